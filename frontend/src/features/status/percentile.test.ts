// Percentiles are measured values.
import { expect, it } from "vitest";
import { percentile } from "./percentile";

it.each<[number[], number, number]>([[[3, 1, 2], 50, 2], [[1, 2, 3, 4], 50, 2], [[1, 2, 3, 4], 95, 4], [[7], 99, 7], [[1, 2], 0, 1]])("%j at %d", (values, percent, expected) => {
  expect(percentile(values, percent)).toBe(expected);
});
