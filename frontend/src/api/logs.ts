// Following the log of one attempt: read by offset, wait at the end for more, stop when it is complete.
import { useEffect, useReducer } from "react";
import { api, body } from "./client";
import { asProblem, type Problem } from "./problem";
import type { LogPiece } from "./types";

const WAIT_S = 20;
const PIECE_BYTES = 65_536;
const RETRY_MS = 2_000;
// Older text is let go, so that a page left open over night stays light.
export const KEPT_CHARACTERS = 400_000;

export interface LogState { text: string; dropped: boolean; truncated: boolean; complete: boolean; offset: number; problem: Problem | null }
export type LogEvent = { kind: "piece"; piece: LogPiece } | { kind: "problem"; problem: Problem } | { kind: "restart" };

export const EMPTY_LOG: LogState = { text: "", dropped: false, truncated: false, complete: false, offset: 0, problem: null };

export function logReducer(state: LogState, event: LogEvent): LogState {
  if (event.kind === "restart") return EMPTY_LOG;
  if (event.kind === "problem") return { ...state, problem: event.problem };
  const { piece } = event;
  // A piece that was asked for twice is shown once.
  if (piece.offset !== state.offset) return state;
  const text = state.text + piece.text;
  const over = text.length - KEPT_CHARACTERS;
  return {
    text: over > 0 ? text.slice(text.indexOf("\n", over) + 1) : text,
    dropped: state.dropped || over > 0,
    truncated: state.truncated || piece.truncated,
    complete: piece.complete,
    offset: piece.next_offset,
    problem: null,
  };
}

interface Which { attempt: number; replica: number }

async function readPiece(id: number, which: Which, offset: number, signal: AbortSignal): Promise<LogPiece> {
  const query = { ...which, offset, limit: PIECE_BYTES, wait_s: WAIT_S };
  // The same address speaks plain text too; this client asks for JSON.
  return (await body(api.GET("/api/v1/jobs/{job_id}/logs", { signal, params: { path: { job_id: id }, query } }))) as LogPiece;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export function useJobLog(id: number, { attempt, replica }: Which, enabled: boolean): LogState {
  const [state, dispatch] = useReducer(logReducer, EMPTY_LOG);
  useEffect(() => {
    if (!enabled) return undefined;
    const stop = new AbortController();
    dispatch({ kind: "restart" });
    const follow = async () => {
      for (let offset = 0; !stop.signal.aborted; ) {
        const asked = Date.now();
        try {
          const piece = await readPiece(id, { attempt, replica }, offset, stop.signal);
          if (stop.signal.aborted) return;
          dispatch({ kind: "piece", piece });
          if (piece.complete && piece.next_offset === offset) return;
          // A server that does not wait for news must not be asked without a pause.
          if (piece.next_offset === offset && Date.now() - asked < RETRY_MS) await pause(RETRY_MS);
          offset = piece.next_offset;
        } catch (error) {
          if (stop.signal.aborted) return;
          const problem = asProblem(error);
          dispatch({ kind: "problem", problem });
          if (problem.status >= 400 && problem.status < 500) return;
          await pause(RETRY_MS);
        }
      }
    };
    void follow();
    return () => stop.abort();
  }, [id, attempt, replica, enabled]);
  return state;
}
