// Windows that begin before the axis or end after it are cut, those outside are not drawn.
import { describe, expect, it } from "vitest";
import type { Forecast } from "@/api/calendar";
import { amounts, ofWhat, pieces } from "./spans";

const axis = { from: Date.parse("2026-05-04T12:00:00Z"), to: Date.parse("2026-05-05T12:00:00Z") };
const window = (opens_at: string, closes_at: string) => ({ opens_at, closes_at });
const point = (change: object) => ({ at: "2026-05-04T12:00:00Z", free_device_milli: 0, free_devices: 0, free_core_milli: 4000, unknown_device_milli: 0, unknown_core_milli: 1000, ...change });
const forecast = (points: ReturnType<typeof point>[]): Forecast => ({ models: [], by_time_limit: 0, by_history: 0, end_unknown: 0, promised: 0, points });

describe("spans", () => {
  it("are cut at both ends", () => {
    const found = pieces([window("2026-05-04T00:00:00Z", "2026-05-04T18:00:00Z"), window("2026-05-05T06:00:00Z", "2026-05-07T00:00:00Z")], axis);
    expect(found.map(({ from, to }) => [from, to])).toEqual([[0, 0.25], [0.75, 1]]);
  });
  it("outside are none", () => expect(pieces([window("2026-05-01T00:00:00Z", "2026-05-02T00:00:00Z")], axis)).toEqual([]));
});

describe("forecast", () => {
  it("is of cores where there are no devices", () => {
    expect(ofWhat(forecast([point({})]))).toBe("cores");
    expect(ofWhat(forecast([point({ unknown_device_milli: 1000 })]))).toBe("devices");
    expect(amounts(point({}), "cores")).toEqual({ free: 4, unknown: 1 });
  });
});
