// The log never shows a piece twice and never grows without end.
import { describe, expect, it } from "vitest";
import { EMPTY_LOG, KEPT_CHARACTERS, logReducer } from "./logs";
import { Problem } from "./problem";

const piece = (offset: number, text: string, complete = false) => ({ kind: "piece", piece: { attempt: 1, offset, next_offset: offset + text.length, text, truncated: false, complete } }) as const;

describe("log", () => {
  it("appends in order", () => {
    const state = logReducer(logReducer(EMPTY_LOG, piece(0, "one\n")), piece(4, "two\n", true));
    expect(state).toMatchObject({ text: "one\ntwo\n", offset: 8, complete: true });
  });
  it("shows a repeated piece once", () => {
    const once = logReducer(EMPTY_LOG, piece(0, "one\n"));
    expect(logReducer(once, piece(0, "one\n")).text).toBe("one\n");
  });
  it("keeps what it has when reading fails, and forgets the failure afterwards", () => {
    const broken = logReducer(logReducer(EMPTY_LOG, piece(0, "one\n")), { kind: "problem", problem: new Problem({ status: 503, code: "x", detail: "" }) });
    expect(broken.text).toBe("one\n");
    expect(logReducer(broken, piece(4, "two\n")).problem).toBeNull();
  });
  it("lets go of whole lines at the start", () => {
    const line = `${"x".repeat(99)}\n`;
    const state = logReducer(logReducer(EMPTY_LOG, piece(0, line.repeat(KEPT_CHARACTERS / 100))), piece(KEPT_CHARACTERS, line));
    expect(state.dropped).toBe(true);
    expect(state.text.length).toBeLessThanOrEqual(KEPT_CHARACTERS);
    expect(state.text.startsWith("x")).toBe(true);
    expect(state.text.length % 100).toBe(0);
  });
});
