// The axis of an estimate holds now and the start, and a handful of round times.
import { describe, expect, it } from "vitest";
import { axisOf } from "./estimate";

const NOW = Date.parse("2026-03-01T10:07:00Z");
const MINUTE = 60_000;

describe("axis of an estimate", () => {
  it.each([1, 7, 90, 600, 6000])("of %d minutes", (minutes) => {
    const { from, to, ticks } = axisOf(NOW, NOW + minutes * MINUTE);
    expect(from).toBeLessThan(NOW);
    expect(to).toBeGreaterThan(NOW + minutes * MINUTE);
    expect(ticks.length).toBeGreaterThan(0);
    expect(ticks.length).toBeLessThanOrEqual(7);
    for (const tick of ticks) expect(tick % MINUTE).toBe(0);
  });
  it("of a start that is due is still an axis", () => expect(axisOf(NOW, NOW - 1).to).toBeGreaterThan(NOW));
});
