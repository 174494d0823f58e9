// Booked and measured: two marks, unknown is null, above the booking is shown.
import { describe, expect, it } from "vitest";
import { aDevice, aNode } from "./fixture";
import { groupLevel, hostLevel, memoryLevel, percentile, powerScaleW, rampStep, occupancyLevel, vesselPixels } from "./levels";

describe("levels of a device", () => {
  it("take the larger of booked compute and booked memory", () => {
    expect(occupancyLevel(aDevice({ bookedMilli: 1, bookedMib: 60_000, utilPct: 58 }))).toEqual({ booked: 0.75, measured: 0.58 });
    expect(occupancyLevel(aDevice({ bookedMilli: 1000, bookedMib: 60_000 })).booked).toBe(1);
  });

  it("keep a missing reading null", () => {
    expect(occupancyLevel(aDevice({ utilPct: null })).measured).toBeNull();
    expect(memoryLevel(aDevice({ usedMib: null })).measured).toBeNull();
    expect(memoryLevel(aDevice({ memoryTotalMib: null, usedMib: 10 }))).toEqual({ booked: null, measured: null });
  });
});

describe("vesselPixels", () => {
  it("draws measured inside booked", () => {
    expect(vesselPixels({ booked: 1, measured: 0.55 }, 11)).toEqual({ booked: 11, measured: 6, over: 0 });
  });

  it("draws what is above the booking apart, also on an unbooked device", () => {
    expect(vesselPixels({ booked: 0.5, measured: 0.7 }, 11)).toEqual({ booked: 6, measured: 6, over: 2 });
    expect(vesselPixels({ booked: 0, measured: 0.3 }, 11)).toEqual({ booked: 0, measured: 0, over: 3 });
  });

  it("does not round away a small booking or a small use of it", () => {
    expect(vesselPixels({ booked: 0.01, measured: 0.005 }, 11)).toEqual({ booked: 1, measured: 1, over: 0 });
  });

  it("draws nothing for zero and nothing measured for unknown", () => {
    expect(vesselPixels({ booked: 0, measured: 0 }, 11)).toEqual({ booked: 0, measured: 0, over: 0 });
    expect(vesselPixels({ booked: 1, measured: null }, 11)).toEqual({ booked: 11, measured: 0, over: 0 });
  });
});

describe("hosts", () => {
  it("show booked cores against measured CPU", () => {
    expect(hostLevel(aNode({ cpuCount: 64, bookedCores: 32, cpuUsedMilli: 16_000 }), "level")).toEqual({ booked: 0.5, measured: 0.25 });
    expect(hostLevel(aNode({ cpuUsedMilli: null }), "level").measured).toBeNull();
  });

  it("show their memory in the memory mode", () => {
    const node = aNode({ memoryMib: 1000, bookedMemoryMib: 500, memoryUsedMib: 100 });
    expect(hostLevel(node, "memory")).toEqual({ booked: 0.5, measured: 0.1 });
  });
});

describe("groups", () => {
  it("average only devices that count as capacity, and only known readings", () => {
    const nodes = [
      aNode({ devices: [
        aDevice({ bookedMilli: 1000, utilPct: 80 }), aDevice({ bookedMilli: 0, utilPct: null }),
        aDevice({ health: "quarantined", bookedMilli: 1000, utilPct: 0 }),
      ] }),
      aNode({ state: "silent", devices: [aDevice({ bookedMilli: 1000, utilPct: 10 })] }),
    ];
    expect(groupLevel(nodes, "level")).toEqual({ booked: 0.5, measured: 0.8 });
  });

  it("fall back to cores where there are no devices, and to unknown where there is no capacity", () => {
    expect(groupLevel([aNode({ bookedCores: 32, cpuUsedMilli: 32_000 })], "level")).toEqual({ booked: 0.5, measured: 0.5 });
    expect(groupLevel([aNode({ devices: [aDevice({ health: "missing" })] })], "level")).toEqual({ booked: null, measured: null });
  });
});

describe("scales", () => {
  it("map temperature to nine steps", () => {
    expect([20, 32, 38, 80, 95].map((celsius) => rampStep(celsius, 32, 80))).toEqual([0, 0, 1, 8, 8]);
  });

  it("end power at the next 100 W above the highest reading", () => {
    expect(powerScaleW([aNode({ devices: [aDevice({ powerMw: 688_000 })] })])).toBe(700);
    expect(powerScaleW([])).toBe(100);
  });

  it("take the nearest rank of known values", () => {
    expect(percentile([1, null, 3, 2, 4], 0.95)).toBe(4);
    expect(percentile([null], 0.95)).toBeNull();
  });
});
