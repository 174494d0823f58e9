// Matches come once each, and the lines around one are whole.
import { describe, expect, it } from "vitest";
import { allMatches, excerptOf, nextPlace } from "./logSearch";
import type { LogMatch, LogMatches } from "./types";

const match = (offset: number, after = ""): LogMatch => ({ line: offset, offset, before: "", match: "x", after, lines_before: [], lines_after: [] });
const page = (matches: LogMatch[], at_end = false): LogMatches => ({ attempt: 1, offset: 0, next_offset: 40, next_line: 5, matches, at_end, complete: at_end, truncated: false });

describe("log search", () => {
  it("goes on where a part ended, until the end", () => {
    expect(nextPlace(page([]))).toEqual({ offset: 40, line: 5 });
    expect(nextPlace(page([], true))).toBeUndefined();
  });
  it("shows a line once that was looked at again, as it is now", () => {
    expect(allMatches([page([match(1), match(9)]), page([match(9, " done")], true)]).map(({ offset, after }) => [offset, after])).toEqual([[1, ""], [9, " done"]]);
  });
  it("cuts what is around a match between lines", () => {
    expect(excerptOf("f line\nwhole\n", "hit\nnext\nhal", false)).toEqual({ before: "whole\n", line: "hit", after: "next\n" });
    expect(excerptOf("first\n", "hit", true)).toEqual({ before: "first\n", line: "hit", after: "" });
  });
});
