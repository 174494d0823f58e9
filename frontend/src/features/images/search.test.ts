// The address is the state; a rate of nothing is no rate.
import { describe, expect, it } from "vitest";
import { hitRate, periodOf, readImageSearch, withPeriod } from "./search";

describe("what the address says of images", () => {
  it("reads what makes sense", () => {
    expect(readImageSearch({ search: " a ", days: "7", stage: "failed", other: 1 })).toEqual({ search: "a", days: 7, stage: "failed" });
    expect(readImageSearch({ search: "", days: "8", stage: "nonsense" })).toEqual({});
    expect(readImageSearch({ search: 3 })).toEqual({ search: "3" });
  });
  it("knows its period", () => {
    expect(periodOf({ days: 7 })).toBe("7");
    expect(periodOf({})).toBe("all");
    expect(withPeriod({ search: "a", days: 7 }, "all")).toEqual({ search: "a" });
    expect(withPeriod({}, "1")).toEqual({ days: 1 });
  });
  it("has no rate where nothing started", () => {
    expect(hitRate({ starts: 0, hits: 0 })).toBeNull();
    expect(hitRate({ starts: 4, hits: 0 })).toBe(0);
    expect(hitRate({ starts: 4, hits: 3 })).toBe(75);
  });
});
