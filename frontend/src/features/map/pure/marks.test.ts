// Which mark is carried, and what the chips count and light.
import { describe, expect, it } from "vitest";
import { aDevice, aMap, aNode } from "./fixture";
import { countSpots, deviceMark, isCapacity, isClosed, isLit, litNodes, type Spot } from "./marks";
import type { ClusterMap, MapNode } from "./model";

const mapOf = (nodes: readonly MapNode[]): ClusterMap => ({ ...aMap([]), nodes });

describe("marks", () => {
  it("know nothing of devices on a node that is not heard", () => {
    const device = aDevice({ health: "healthy" });
    expect(deviceMark(aNode({ state: "silent" }), device)).toBe("unknown");
    expect(deviceMark(aNode({ state: "lost" }), device)).toBe("unknown");
    expect(deviceMark(aNode(), device)).toBe("healthy");
  });

  it("count a suspect device as capacity, a cordoned one not", () => {
    expect(isCapacity(aNode(), aDevice({ health: "suspect" }))).toBe(true);
    expect(isCapacity(aNode(), aDevice({ cordoned: true }))).toBe(false);
    expect(isCapacity(aNode(), aDevice({ health: "recovered" }))).toBe(false);
    expect(isCapacity(aNode({ state: "draining" }), aDevice())).toBe(false);
  });

  it("put the gate on nodes that an operator closed", () => {
    expect(["cordoned", "draining", "maintenance", "silent", "ready"].map((state) => isClosed(state as MapNode["state"])))
      .toEqual([true, true, true, false, false]);
  });
});

describe("spotlight", () => {
  const nodes = [
    aNode({ id: 1, devices: [aDevice({ health: "suspect" }), aDevice()] }),
    aNode({ id: 2, state: "silent", devices: [aDevice(), aDevice()] }),
    aNode({ id: 3, state: "cordoned", devices: [aDevice({ health: "quarantined" })] }),
    aNode({ id: 4, devices: [aDevice({ cordoned: true })] }),
  ];

  it("counts devices and nodes apart", () => {
    expect(countSpots(mapOf(nodes))).toMatchObject({
      suspect: { nodes: 0, devices: 1 }, quarantined: { nodes: 0, devices: 1 }, unknown: { nodes: 0, devices: 2 },
      cordoned: { nodes: 1, devices: 1 }, silent: { nodes: 1, devices: 0 }, missing: { nodes: 0, devices: 0 },
    });
  });

  it("lights the tiles that hold a match, and all when none is pressed", () => {
    const lit = (spot: Spot | null): number[] => nodes.filter((node) => isLit(node, { spot, text: null })).map((node) => node.id);
    expect(lit("suspect")).toEqual([1]);
    expect(lit("silent")).toEqual([2]);
    expect(lit("cordoned")).toEqual([3, 4]);
    expect(lit(null)).toEqual([1, 2, 3, 4]);
  });

  it("lights what a text finds in name, node set, rack or model, and says that nothing is filtered", () => {
    const found = [
      aNode({ id: 1, name: "tb-001", nodeSet: "train", devices: [aDevice({ model: "H100" }), aDevice({ model: null })] }), aNode({ id: 2, name: "ib-1", nodeSet: null, rack: "R07" }),
    ];
    const lit = (text: string): number[] => [...(litNodes(found, { spot: null, text }) ?? [])];
    expect([lit("TB-"), lit("h100"), lit("r07"), lit("train"), lit("nowhere")]).toEqual([[1], [1], [2], [1], []]);
    expect(litNodes(found, { spot: null, text: null })).toBeNull();
  });
});
