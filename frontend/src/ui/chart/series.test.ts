import { describe, expect, it } from "vitest";
import { bandPath, bookedPath, gaps, greatest, least, linePath, newest, stretches, type Series } from "./series";

type Maybe = number | null;
const place = (step: number, value: number): readonly [number, number] => [step * 10, 100 - value];

function series(mean: readonly Maybe[], over: { count?: readonly Maybe[]; booked?: readonly Maybe[] } = {}): Series {
  const shift = (by: number): Maybe[] => mean.map((value) => (value === null ? null : value + by));
  const steps = {
    count: over.count ?? mean.map((value) => (value === null ? null : 6)), mean, min: shift(-5), max: shift(5), p50: mean, p95: shift(4), p99: shift(5),
  };
  return { fromMs: 0, stepMs: 10_000, points: mean.length, steps, booked: over.booked ?? null };
}

describe("a series with gaps", () => {
  const broken = series([10, 20, null, null, 30, null]);

  it("keeps a gap a gap", () => {
    expect(gaps(broken)).toEqual([{ first: 2, last: 3 }]);
    expect(stretches(broken)).toEqual([{ first: 0, last: 1 }, { first: 4, last: 4 }]);
  });

  it("draws no line across it, and a lonely step as a dash", () => {
    expect(linePath(broken, broken.steps.mean, place)).toBe("M5.0 90.0L15.0 80.0M40.0 70.0L50.0 70.0");
    expect(bandPath(broken, place)).toBe("M5.0 85.0L15.0 75.0L15.0 85.0L5.0 95.0ZM40.0 65.0L50.0 65.0L50.0 75.0L40.0 75.0Z");
  });

  it("is all gap without readings, and has no newest one", () => {
    const empty = series([null, null, null]);
    expect(gaps(empty)).toEqual([{ first: 0, last: 2 }]);
    expect([linePath(empty, empty.steps.mean, place), newest(empty), greatest(empty), least(empty)]).toEqual(["", null, null, null]);
  });

  it("does not take a reading that came a moment late for a missing one", () => {
    const late = series([10, null, 12, 14], { count: [1, null, 2, 1] });
    expect(gaps(late)).toEqual([]);
    expect(linePath(late, late.steps.mean, place)).toBe("M5.0 90.0L25.0 88.0L35.0 86.0");
    expect(gaps(series([10, null, 12, 14], { count: [1, null, 1, 1] }))).toEqual([{ first: 1, last: 1 }]);
  });
});

describe("extent and bookings", () => {
  const booked = series([10, 20, 30], { booked: [50, 50, null] });

  it("reaches over what was measured and booked", () => {
    expect([least(booked), greatest(booked), newest(booked)]).toEqual([5, 50, 2]);
  });

  it("draws bookings as steps, and nothing where they are unknown", () => {
    expect(bookedPath(booked, place)).toBe("M0.0 100.0L0.0 50.0L10.0 50.0L10.0 50.0L20.0 50.0L20.0 100.0Z");
    expect(bookedPath(series([1]), place)).toBe("");
  });
});
