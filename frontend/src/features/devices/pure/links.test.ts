// Links between devices: what is drawn, what it is called, and what is not guessed.
import { describe, expect, it } from "vitest";
import type { Device, DeviceLink, NumaNode } from "@/api/types";
import { bestLink, commonSwitch, isPcie, linkFact, linkName, numaSlots, placeSlots } from "./links";

const device = (id: number, numa_node: number | null): Device => ({ id, index: id, numa_node }) as Device;
const link = (a: number, b: number, kind: string, over: Partial<DeviceLink> = {}): DeviceLink =>
  ({ a, b, kind, lanes: null, bandwidth_mb_s: null, ...over });
const numa: NumaNode[] = [0, 1].map((id) => ({ id, cpus: [], memory_mib: null, distances: [] }));

describe("kinds", () => {
  it("are named as people know them", () => {
    expect(["NV12", "NVSWITCH", "HCCS", "xgmi", "PIX", "MX"].map(linkName)).toEqual(["NVLink", "NVSwitch", "HCCS", "XGMI", "PIX", "MetaXLink"]);
    expect(["PIX", "sys", "NV4"].map(isPcie)).toEqual([true, true, false]);
  });

  it("keep an unknown speed unknown and read lanes from the name", () => {
    expect(linkFact(link(1, 2, "NV12"))).toEqual({ name: "NVLink", lanes: 12, bandwidthGbS: null });
    expect(linkFact(link(1, 2, "HCCS", { lanes: 7, bandwidth_mb_s: 392_000 }))).toEqual({ name: "HCCS", lanes: 7, bandwidthGbS: 392 });
  });
});

describe("best link", () => {
  it("prefers links made for accelerators, the fastest first", () => {
    const links = [link(1, 2, "NV2", { bandwidth_mb_s: 50_000 }), link(1, 3, "NV4", { bandwidth_mb_s: 100_000 }), link(1, 4, "PIX")];
    expect(bestLink(1, links)?.b).toBe(3);
  });

  it("falls back to the nearest PCIe path, and to nothing", () => {
    expect(bestLink(1, [link(1, 2, "SYS"), link(1, 3, "PXB")])?.kind).toBe("PXB");
    expect(bestLink(9, [link(1, 2, "SYS")])).toBeNull();
  });
});

describe("switch", () => {
  const devices = [device(1, 0), device(2, 0), device(3, 1)];

  it("is drawn when all devices hang on it", () => {
    expect(commonSwitch(devices, [link(1, 2, "NVSWITCH"), link(2, 3, "NVSWITCH")])?.kind).toBe("NVSWITCH");
    expect(commonSwitch(devices, [link(1, 2, "NVSWITCH")])).toBeNull();
    expect(commonSwitch(devices, [link(1, 2, "NV4"), link(2, 3, "NV4")])).toBeNull();
  });
});

describe("NUMA slots", () => {
  it("keep devices without a NUMA node apart from node 0", () => {
    const slots = numaSlots([device(2, -1), device(1, 0), device(0, 1), device(3, null)], numa);
    expect(slots.map((slot) => [slot.numa, slot.devices.map((entry) => entry.id)])).toEqual([[0, [1]], [1, [0]], [null, [2, 3]]]);
  });

  it("stand side by side within the width", () => {
    const placed = placeSlots(numaSlots([0, 1, 2, 3].map((id) => device(id, id % 2)), numa), 390);
    expect(placed[0]?.x).toBe(0);
    const last = placed[1];
    expect((last?.x ?? 0) + (last?.width ?? 0)).toBeCloseTo(390);
    for (const { x, width, devices } of placed) for (const entry of devices) expect(entry.x > x && entry.x < x + width).toBe(true);
  });
});
