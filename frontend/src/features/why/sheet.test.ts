// The score sheet compares term by term and names the one that decided.
import { describe, expect, it } from "vitest";
import type { Term } from "@/api/types";
import { decisiveTerm, sheetRows } from "./sheet";

const term = (name: string, contribution: number): Term => ({ term: name, value_ppm: 1, weight_ppm: 500_000, contribution_ppm: contribution });
const chosen = [term("resource-fit", 300_000), term("affinity", 200_000), term("balance", 50_000)];

describe("score sheet", () => {
  it("sets every term beside the runner-up's", () => {
    const rows = sheetRows(chosen, [term("affinity", 50_000), term("resource-fit", 320_000)]);
    expect(rows.map((row) => row.leadPpm)).toEqual([-20_000, 150_000, null]);
    expect(decisiveTerm(rows)).toBe("affinity");
  });
  it("names no term where none was ahead, and none without a runner-up", () => {
    expect(decisiveTerm(sheetRows(chosen, chosen))).toBeNull();
    expect(decisiveTerm(sheetRows(chosen, null))).toBeNull();
  });
});
