// What is no share is not guessed.
import { describe, expect, it } from "vitest";
import { capsText, readCaps, readPercent } from "./caps";

describe("caps", () => {
  it("read shares", () => expect(["30", "12.5 %", "0,25", "100%"].map(readPercent)).toEqual([30, 12.5, 0.25, 100]));
  it("refuse the rest", () => expect(["", "101", "-1", "a", "1.23456"].map(readPercent)).toEqual([null, null, null, null, null]));
  it("read one model a line", () => expect(readCaps("nvidia-a100: 50 %\n\n NVIDIA A100-SXM4-80GB 12.5\n")).toEqual({ "nvidia-a100": 50, "NVIDIA A100-SXM4-80GB": 12.5 }));
  it("refuse a line without a share, and a model twice", () => expect(["a", "a 120", "a 1\na 2"].map(readCaps)).toEqual([null, null, null]));
  it("read back what they wrote", () => expect(readCaps(capsText({ a: 1, b: 33.3333 }))).toEqual({ a: 1, b: 33.3333 }));
});
