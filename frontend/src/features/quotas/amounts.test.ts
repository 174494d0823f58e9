// What is no amount is not guessed.
import { describe, expect, it } from "vitest";
import { devices, readDevices } from "./amounts";

describe("amounts", () => {
  it("reads devices as thousandths", () => expect(["2", "2.5", "0,125", " 0 "].map(readDevices)).toEqual([2000, 2500, 125, 0]));
  it("refuses the rest", () => expect(["", "-1", "1e3", "1.2345", "two", "99999999"].map(readDevices)).toEqual([null, null, null, null, null, null]));
  it("reads back what it wrote", () => expect(readDevices(devices(2125))).toBe(2125));
});
