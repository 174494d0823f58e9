// The fragment picture never rounds a shortage away and its parts always add up to the device.
import { describe, expect, it } from "vitest";
import { layoutVessels, pictureFacts, vesselParts } from "./picture";

const GIB = 1024;
const device = (index: number, booked: number, free: number, total = 80 * GIB) => ({ index, total_mib: total, booked_mib: booked, used_mib: null, free_mib: free });
const fourPieces = {
  node_name: "n7", request_mib: 40 * GIB, safety_mib: 8 * GIB,
  devices: [...[0, 1, 2, 3].map((i) => device(i, 60 * GIB, 20 * GIB)), device(4, 80 * GIB, 0)],
};

describe("picture", () => {
  it("adds up the pieces and says what is short", () => {
    const facts = pictureFacts(fourPieces);
    expect(facts.freeTotalMib).toBe(80 * GIB);
    expect(facts.largestMib).toBe(20 * GIB);
    expect(facts.needMib).toBe(48 * GIB);
    expect(facts.shortMib).toBe(28 * GIB);
    expect(facts.partly.map((vessel) => vessel.index)).toEqual([0, 1, 2, 3]);
    expect(facts.full.map((vessel) => vessel.index)).toEqual([4]);
  });
  it("keeps a shortage of one MiB", () => {
    const facts = pictureFacts({ ...fourPieces, request_mib: 20 * GIB, safety_mib: 1 });
    expect(facts.shortMib).toBe(1);
  });
  it("is not short where the job fits", () => expect(pictureFacts({ ...fourPieces, request_mib: 10 * GIB, safety_mib: 2 * GIB }).shortMib).toBe(0));
  it("stands without any device", () => {
    const facts = pictureFacts({ ...fourPieces, devices: [] });
    expect(facts.largestMib).toBe(0);
    expect(facts.shortMib).toBe(48 * GIB);
  });
});

describe("vessel", () => {
  it.each([[60, 20], [60, 5], [80, 0], [90, 0], [0, 80]])("of 80 GiB with %d booked and %d free adds up", (booked, free) => {
    const parts = vesselParts(device(0, booked * GIB, free * GIB));
    expect(parts.bookedMib + parts.blockedMib + parts.freeMib).toBe(80 * GIB);
    expect(Math.min(parts.bookedMib, parts.blockedMib, parts.freeMib)).toBeGreaterThanOrEqual(0);
  });
});

describe("layout", () => {
  it("keeps the drawn width inside the room and counts what is left out", () => {
    const many = { ...fourPieces, devices: Array.from({ length: 16 }, (_, i) => device(i, 60 * GIB, 20 * GIB)) };
    const layout = layoutVessels(pictureFacts(many), 500, false);
    expect(layout.shown.length * (layout.wide + layout.gap) - layout.gap).toBeLessThanOrEqual(500);
    expect(layout.shown.length + layout.hidden).toBe(16);
  });
  it("leaves full devices out on a phone", () => expect(layoutVessels(pictureFacts(fourPieces), 200, true)).toMatchObject({ hidden: 1, wide: 36 }));
});
