import { describe, expect, it } from "vitest";
import { isDaily, niceTop, timeTicks, valueTicks } from "./ticks";

const HOUR = 3_600_000;

describe("axes of a chart", () => {
  it("marks round values", () => {
    expect(valueTicks(0, 100)).toEqual([0, 25, 50, 75, 100]);
    expect(valueTicks(20, 87)).toEqual([20, 40, 60, 80]);
    expect(valueTicks(0, 0)).toEqual([0]);
  });

  it("ends an axis at a round value, also where nothing was measured", () => {
    expect([niceTop(0), niceTop(93), niceTop(412), niceTop(80)]).toEqual([1, 100, 600, 80]);
  });

  it("marks round times, no more than there is room for", () => {
    const from = Date.UTC(2026, 10, 30, 3, 7);
    const { at, stepMs } = timeTicks(from, from + HOUR, 6);
    expect(stepMs).toBe(10 * 60_000);
    expect(at).toHaveLength(6);
    expect(at.every((instant) => instant % stepMs === 0)).toBe(true);
  });

  it("counts days from the viewer's midnight", () => {
    const from = Date.UTC(2026, 10, 1);
    const { at, stepMs } = timeTicks(from, from + 30 * 24 * HOUR, 6);
    expect(isDaily(stepMs)).toBe(true);
    expect(at.every((instant) => new Date(instant).getHours() === 0)).toBe(true);
    expect(at.length).toBeLessThanOrEqual(6);
  });
});
