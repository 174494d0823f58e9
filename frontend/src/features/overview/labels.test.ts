// Labels of waits never touch and never say the same twice.
import { describe, expect, it } from "vitest";
import { type Label, placeLabels } from "./labels";

const label = (text: string, x: number, strong = false): Label => ({ text, x, strong });

describe("labels of waits", () => {
  it("are one where all percentiles are the same", () => expect(placeLabels([label("2 s", 40), label("2 s", 40, true), label("2 s", 40)], 400)).toEqual([label("2 s", 40, true)]));
  it("stay above their marks where there is room", () => expect(placeLabels([label("2 s", 40), label("3 s", 140, true)], 400).map((one) => one.x)).toEqual([40, 140]));
  it("are moved apart, and stay inside", () => {
    const [a, b, c] = placeLabels([label("1 min 50 s", 300), label("1 min 57 s", 302, true), label("2 min 19 s", 310)], 360);
    expect((b?.x ?? 0) - (a?.x ?? 0)).toBeGreaterThanOrEqual(64);
    expect((c?.x ?? 0) - (b?.x ?? 0)).toBeGreaterThanOrEqual(64);
    expect((c?.x ?? 0) + 32).toBeLessThanOrEqual(360);
  });
});
