// Days of a team: what is unknown is no column of height 0.
import { describe, expect, it } from "vitest";
import type { DayUse } from "@/api/teams";
import { hoursOf, partsOf, queuesOf } from "./days";

const day = (parts: Record<string, [number, number]>): DayUse => ({
  day: "2026-05-04",
  device_hours: Object.values(parts).reduce((sum, [devices]) => sum + devices, 0),
  core_hours: Object.values(parts).reduce((sum, [, cores]) => sum + cores, 0),
  queues: Object.entries(parts).map(([queue, [device_hours, core_hours]]) => ({ queue, device_hours, core_hours })),
});
const UNKNOWN: DayUse = { day: "2026-05-03", device_hours: null, core_hours: null, queues: [] };

describe("days", () => {
  it("show cores only where no device was used", () => {
    expect(hoursOf([UNKNOWN])).toBe("device_hours");
    expect(hoursOf([UNKNOWN, day({ offline: [0, 3] })])).toBe("core_hours");
    expect(hoursOf([day({ offline: [0, 3] }), day({ training: [1, 0] })])).toBe("device_hours");
  });
  it("stack their queues", () => {
    const days = [day({ training: [2, 0], offline: [3, 1] })];
    expect(queuesOf(days, "device_hours")).toEqual(["training", "offline"]);
    expect(partsOf(days[0] as DayUse, ["training", "offline"], "device_hours")).toEqual([{ queue: "training", from: 0, to: 2 }, { queue: "offline", from: 2, to: 5 }]);
  });
  it("tell unknown from nothing", () => {
    expect(partsOf(UNKNOWN, ["training"], "device_hours")).toBeNull();
    expect(partsOf(day({}), ["training"], "device_hours")).toEqual([]);
  });
});
