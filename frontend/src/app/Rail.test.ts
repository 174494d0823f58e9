import { describe, expect, it } from "vitest";
import { labelsAt } from "./Rail";

describe("the figures of the gauge", () => {
  it.each([
    [0, 0, [0, 12]],
    [104, 104, [92, 104]],
    [50, 50, [44, 56]],
    [52, 50, [57, 45]],
    [10, 90, [10, 90]],
  ])("stand apart at %d and %d", (booked, measured, places) => expect(labelsAt(booked, measured)).toEqual(places));
});
