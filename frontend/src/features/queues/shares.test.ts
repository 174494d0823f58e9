// Share bars: every booking and quota fits the axis, and borrowing is what the server says.
import { describe, expect, it } from "vitest";
import type { Queue } from "@/api/types";
import { axisMax, axisTicks, shareOf, unitOf } from "./shares";

const queue = (change: Partial<Queue>) =>
  ({ quota_percent: 20, capacity_device_milli: 100_000, capacity_core_milli: 8000, booked_device_milli: 20_000, booked_core_milli: 1000, cap_device_milli: 20_000, cap_core_milli: 1600, ...change }) as Queue;

describe("shares", () => {
  it("are beyond the cap only where there is one", () => {
    expect(shareOf(queue({}), "devices").beyondMilli).toBe(0);
    expect(shareOf(queue({ booked_device_milli: 20_001 }), "devices").beyondMilli).toBe(1);
    expect(shareOf(queue({ cap_device_milli: null, booked_device_milli: 99_000 }), "devices").beyondMilli).toBe(0);
  });
  it("tell what is borrowed as the server does", () => {
    expect(shareOf(queue({ borrowed_device_milli: 3000, borrowed_core_milli: 5 }), "devices").borrowedMilli).toBe(3000);
    expect(shareOf(queue({ borrowed_device_milli: 3000, borrowed_core_milli: 5 }), "cores").borrowedMilli).toBe(5);
  });
  it("count cores where there are no devices", () => {
    const only = queue({ capacity_device_milli: 0, booked_device_milli: 0 });
    expect(unitOf([only])).toBe("cores");
    expect(shareOf(only, "cores").bookedPercent).toBe(12.5);
  });
  it("of nothing are nothing", () => expect(shareOf(queue({ capacity_core_milli: 0 }), "cores").bookedPercent).toBe(0));
});

describe("axis", () => {
  it.each([[[30, 50, 20]], [[100]], [[5]], [[0]]])("holds quotas of %j", (quotas) => {
    const shares = quotas.map((quota_percent) => shareOf(queue({ quota_percent, booked_device_milli: 0 }), "devices"));
    const max = axisMax(shares);
    for (const quota of quotas) expect(max).toBeGreaterThanOrEqual(quota);
    expect(axisTicks(max)[0]).toBe(0);
    expect(axisTicks(max).at(-1)).toBeLessThanOrEqual(max);
  });
  it("holds a booking above the whole", () => expect(axisMax([shareOf(queue({ booked_device_milli: 130_000 }), "devices")])).toBeGreaterThanOrEqual(130));
});
