// What enters the channel leaves it: nothing is lost or invented between the gates.
import { describe, expect, it } from "vitest";
import type { Overview } from "@/api/types";
import { flowOf, lossesOf } from "./channel";

const overview = (change: object) =>
  ({
    devices: { total: 100, schedulable: 90 }, accelerators: { booked_percent: 50, measured_percent: { mean: 20 } },
    cpu: { cores: 64, booked_cores: 16, booked_percent: 25, measured_percent: 10 }, ...change,
  }) as unknown as Overview;

describe("channel", () => {
  it("adds up", () => {
    const flow = flowOf(overview({}));
    const { out, free, idle } = lossesOf(flow);
    expect(flow).toMatchObject({ unit: "devices", installed: 100, schedulable: 90, booked: 45, measured: 18 });
    expect(out + free + (idle ?? 0) + (flow.measured ?? 0)).toBe(flow.installed);
  });
  it("shows cores where there is no accelerator", () => {
    const flow = flowOf(overview({ devices: { total: 0, schedulable: 0 } }));
    expect(flow).toMatchObject({ unit: "cores", installed: 64, booked: 16 });
    expect(flow.measured).toBeCloseTo(6.4);
  });
  it("keeps what was not measured unknown", () => {
    const flow = flowOf(overview({ accelerators: { booked_percent: 50, measured_percent: null } }));
    expect(flow.measured).toBeNull();
    expect(lossesOf(flow).idle).toBeNull();
  });
  it("counts use above the booking apart", () => {
    const losses = lossesOf({ unit: "cores", installed: 8, schedulable: 8, booked: 2, measured: 5 });
    expect(losses).toMatchObject({ idle: 0, over: 3 });
  });
});
