// Looking for a text in a log. The server looks through a bounded part per answer; this goes on until enough was found.
import { useInfiniteQuery } from "@tanstack/react-query";
import { api, body } from "./client";
import { keys } from "./keys";
import type { LogMatch, LogMatches, LogPiece } from "./types";

export const MOST_MATCHES = 100;
const CONTEXT_LINES = 1;
const BEFORE_BYTES = 8_192;
const AFTER_BYTES = 32_768;

export interface LogPlace { id: number; attempt: number; replica: number }
export interface Wanted { text: string; anyCase: boolean }
interface Cursor { offset: number; line?: number }

/** Where to go on; undefined once all that has arrived was looked through. */
export function nextPlace(page: LogMatches): Cursor | undefined {
  return page.at_end ? undefined : { offset: page.next_offset, line: page.next_line ?? undefined };
}

/** The matches of all parts; a line that was looked at twice, because it was not finished, comes once. */
export function allMatches(pages: readonly LogMatches[]): LogMatch[] {
  const byOffset = new Map(pages.flatMap((page) => page.matches).map((match) => [match.offset, match]));
  return [...byOffset.values()];
}

export function useLogSearch({ id, attempt, replica }: LogPlace, { text, anyCase }: Wanted) {
  return useInfiniteQuery({
    queryKey: keys.logSearch({ id, attempt, replica, anyCase, text }),
    queryFn: async ({ signal, pageParam }) => {
      const query = { attempt, replica, search: text, ignore_case: anyCase ? 1 : 0, context: CONTEXT_LINES, most: MOST_MATCHES, ...pageParam } as const;
      return (await body(api.GET("/api/v1/jobs/{job_id}/logs", { signal, params: { path: { job_id: id }, query } }))) as LogMatches;
    },
    initialPageParam: { offset: 0, line: 1 } as Cursor,
    getNextPageParam: nextPlace,
    enabled: text !== "",
    // A log grows: what was found before is looked up anew by a new search only.
    staleTime: Infinity,
  });
}

export interface Excerpt { before: string; line: string; after: string }

/** The lines around the one that begins at an offset. */
export async function readExcerpt({ id, attempt, replica }: LogPlace, offset: number, signal: AbortSignal): Promise<Excerpt> {
  const read = async (from: number, limit: number) =>
    (await body(api.GET("/api/v1/jobs/{job_id}/logs", { signal, params: { path: { job_id: id }, query: { attempt, replica, offset: from, limit } } }))) as LogPiece;
  const from = Math.max(0, offset - BEFORE_BYTES);
  const [lead, rest] = await Promise.all([offset > from ? read(from, offset - from) : null, read(offset, AFTER_BYTES)]);
  return excerptOf(lead?.text ?? "", rest.text, from === 0);
}

/** Whole lines only, but for the one that was looked for. */
export function excerptOf(lead: string, rest: string, fromStart: boolean): Excerpt {
  const before = fromStart ? lead : lead.slice(lead.indexOf("\n") + 1);
  const end = rest.indexOf("\n");
  if (end < 0) return { before, line: rest, after: "" };
  const last = rest.lastIndexOf("\n");
  return { before, line: rest.slice(0, end), after: rest.slice(end + 1, last + 1) };
}
