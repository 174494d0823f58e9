// The compact document: rows by column name, unknown stays null, unchanged nodes keep their identity.
import { describe, expect, it } from "vitest";
import { decodeMap } from "./decode";
import { aDocument } from "./fixture";

const plan = [{ set: "train", model: "A100", nodes: 2, devices: 2 }];

describe("decodeMap", () => {
  it("reads nodes, devices and groups", () => {
    const map = decodeMap(aDocument(plan));
    expect(map.groups).toHaveLength(1);
    expect(map.groups[0]?.nodes.map((node) => node.name)).toEqual(["train-1", "train-2"]);
    expect(map.nodes[0]?.devices[1]).toMatchObject({ index: 1, model: "A100", bookedMilli: 500, utilPct: 40, jobs: 1 });
  });

  it("follows the columns, not their order", () => {
    const document = aDocument(plan);
    const turned = {
      ...document,
      columns: { nodes: [...document.columns.nodes].reverse(), devices: document.columns.devices },
      nodes: document.nodes.map((row) => [...row].reverse()),
    };
    expect(decodeMap(turned).nodes).toEqual(decodeMap(document).nodes);
  });

  it("keeps unknown as null, never zero", () => {
    const document = aDocument(plan);
    const devices = document.nodes[0]?.[11] as unknown[][];
    devices[0] = [100, 0, null, "healthy", false, null, 0, 0, null, null, null, null, 0, null, null, null];
    const device = decodeMap(document).nodes[0]?.devices[0];
    expect(device).toMatchObject({ model: null, memoryTotalMib: null, usedMib: null, utilPct: null, tempC: null, powerMw: null });
  });

  it("puts slices into their device, which is booked as they are", () => {
    const document = aDocument(plan);
    const devices = document.nodes[0]?.[11] as unknown[][];
    const slice = (id: number, index: number, booked: number): unknown[] =>
      [id, index, null, "healthy", false, 20_000, booked * 20_000, booked * 1000, null, null, null, null, booked, 100, booked ? 0 : null, null];
    devices[0] = [100, 0, 0, "healthy", false, 80_000, 0, 0, 9000, 12, 40, 1, 0, null, null, null];
    devices.push(slice(151, 1, 1), slice(150, 0, 0));
    const found = decodeMap(document).nodes[0]?.devices;
    expect(found).toHaveLength(2);
    expect(found?.[0]).toMatchObject({ bookedMib: 20_000, bookedMilli: 500, jobs: 1, queue: "training", slices: [{ id: 150 }, { id: 151 }] });
  });

  it("sees the change of a slice", () => {
    const sliced = (health: string) => {
      const document = aDocument(plan);
      (document.nodes[0]?.[11] as unknown[][]).push([150, 0, null, health, false, null, 0, 0, null, null, null, null, 0, 100, null, null]);
      return document;
    };
    const before = decodeMap(sliced("healthy"));
    expect(decodeMap(sliced("healthy"), before).nodes[0]).toBe(before.nodes[0]);
    expect(decodeMap(sliced("unknown"), before).nodes[0]).not.toBe(before.nodes[0]);
  });

  it("treats a health it does not know as unknown", () => {
    const document = aDocument(plan);
    ((document.nodes[0]?.[11] as unknown[][])[0] as unknown[])[3] = "sleepy";
    expect(decodeMap(document).nodes[0]?.devices[0]?.health).toBe("unknown");
  });

  it("names a missing column", () => {
    const document = aDocument(plan);
    document.columns.devices = document.columns.devices.filter((name) => name !== "util_pct");
    expect(() => decodeMap(document)).toThrow("device column util_pct");
  });

  it("gives back the same object for a node that did not change", () => {
    const before = decodeMap(aDocument(plan));
    const document = aDocument(plan);
    ((document.nodes[1]?.[11] as unknown[][])[0] as unknown[])[9] = 90;
    const after = decodeMap(document, before);
    expect(after.nodes[0]).toBe(before.nodes[0]);
    expect(after.nodes[1]).not.toBe(before.nodes[1]);
  });

  it("takes a row that came again for what its names mean now", () => {
    const before = decodeMap(aDocument(plan));
    const document = { ...aDocument(plan), queues: ["renamed"] };
    expect(decodeMap(document, before).nodes[0]?.devices[0]?.queue).toBe("renamed");
  });

  it("follows nodes that come, go and change places", () => {
    const before = decodeMap(aDocument(plan));
    const document = aDocument(plan);
    document.nodes.reverse();
    expect(decodeMap(document, before).nodes).toEqual([before.nodes[1], before.nodes[0]]);
    document.nodes.shift();
    const fewer = decodeMap(document, before);
    expect(fewer.nodes).toEqual([before.nodes[0]]);
    expect(decodeMap(aDocument(plan), fewer)).toEqual(before);
  });

  it("shows nodes that no group names", () => {
    const document = aDocument(plan);
    document.groups[0]?.nodes.pop();
    expect(decodeMap(document).groups.map((group) => group.nodes.length)).toEqual([1, 1]);
  });
});
