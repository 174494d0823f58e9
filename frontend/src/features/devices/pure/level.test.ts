// Levels of one device and the gate of its memory.
import { describe, expect, it } from "vitest";
import type { Device } from "@/api/types";
import { levelOf, memoryGate } from "./level";

const device = (over: Partial<Device>): Device =>
  ({ booked: { memory_mib: 0, compute_milli: 0 }, memory_total_mib: 80_000, reading: null, placements: [], ...over }) as Device;
const placement = (compute_milli: number): Device["placements"][number] => ({ id: 1, job: 1, job_name: "j", memory_mib: 1, compute_milli, memory_limit: "watched" });

describe("levelOf", () => {
  it("takes the larger booking and leaves a missing reading unknown", () => {
    expect(levelOf(device({ booked: { memory_mib: 60_000, compute_milli: 100 } }))).toEqual({ booked: 0.75, measured: null });
  });

  it("does not guess a share of an unknown memory", () => {
    const reading = { at: "", memory_used_mib: null, utilization_pct: 41, temperature_c: null, power_mw: null };
    expect(levelOf(device({ memory_total_mib: null, booked: { memory_mib: 500, compute_milli: 250 }, reading }))).toEqual({ booked: 0.25, measured: 0.41 });
  });
});

describe("memoryGate", () => {
  it("is 90 % of a shared booking, 97 % of a whole device, none of nothing", () => {
    const booked = { memory_mib: 40_000, compute_milli: 500 };
    expect(memoryGate(device({ booked, placements: [placement(500)] }))).toBe(0.9);
    expect(memoryGate(device({ booked, placements: [placement(1000)] }))).toBe(0.97);
    expect(memoryGate(device({}))).toBeNull();
  });
});
