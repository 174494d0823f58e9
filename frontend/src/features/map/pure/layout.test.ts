// Where tiles stand: whole pixels, columns balanced, nothing overlaps, small clusters are shown large.
import { describe, expect, it } from "vitest";
import { REFERENCE_PLAN, aMap } from "./fixture";
import { TILE_HEIGHT, layoutMap, regroup, tileWidthFor, tilesByNode } from "./layout";

const reference = aMap(REFERENCE_PLAN);

describe("layoutMap", () => {
  it("puts the reference cluster into three columns of 428 px at zoom 1", () => {
    const layout = layoutMap(reference.groups, 1364, 760);
    expect(layout.home).toBe(1);
    expect([...new Set(layout.blocks.map((block) => block.x))]).toEqual([0, 450, 900]);
    expect(layout.blocks.every((block) => block.width === 428)).toBe(true);
    expect(layout.height).toBeLessThan(760);
  });

  it("keeps every position whole", () => {
    for (const tile of tilesByNode(layoutMap(reference.groups, 1411, 700)).values()) {
      expect(Number.isInteger(tile.x) && Number.isInteger(tile.y)).toBe(true);
    }
  });

  it("places each node once and no two tiles over each other", () => {
    const tiles = [...tilesByNode(layoutMap(reference.groups, 1364, 760)).values()];
    expect(tiles).toHaveLength(1206);
    const cells = new Set(tiles.map((tile) => `${String(tile.x)},${String(tile.y)}`));
    expect(cells.size).toBe(1206);
    for (const tile of tiles) expect(tile.x + tile.block.tileWidth).toBeLessThanOrEqual(tile.block.x + tile.block.width);
  });

  it("shows a small cluster at a larger whole zoom", () => {
    const small = aMap([{ set: "lab", model: "A100", nodes: 1, devices: 8 }]);
    expect(layoutMap(small.groups, 1364, 760).home).toBe(4);
    const demo = aMap([{ set: "a", model: "A100", nodes: 24, devices: 8 }, { set: "b", model: "T4", nodes: 24, devices: 4 }]);
    const { home } = layoutMap(demo.groups, 1364, 760);
    expect(home).toBeGreaterThan(1);
    expect(Number.isInteger(home)).toBe(true);
  });

  it("splits a group that is taller than its share over the columns", () => {
    const one = aMap([{ set: "all", model: "A100", nodes: 750, devices: 8 }]);
    const { blocks } = layoutMap(one.groups, 1364, 700);
    expect(blocks.map((block) => block.x)).toEqual([0, 450, 900]);
    expect(blocks.map((block) => block.from > 0)).toEqual([false, true, true]);
    expect(blocks.reduce((sum, block) => sum + block.nodes.length, 0)).toBe(750);
  });

  it("lays out one column on a phone", () => {
    const layout = layoutMap(reference.groups, 390, 700);
    expect(new Set(layout.blocks.map((block) => block.x)).size).toBe(1);
  });

  it("stands an empty cluster", () => {
    expect(layoutMap([], 1364, 700).blocks).toEqual([]);
  });
});

describe("tiles", () => {
  it("fit eight vessels of 4 px with their gaps", () => {
    expect(tileWidthFor(8)).toBe(43);
    expect(TILE_HEIGHT).toBe(15);
  });
});

describe("regroup", () => {
  const map = aMap([
    { set: "a", model: "A100", nodes: 2, devices: 8 }, { set: "a", model: "T4", nodes: 3, devices: 4 },
    { set: "b", model: "A100", nodes: 4, devices: 8 },
  ]);

  it("merges by model", () => {
    expect(regroup(map.groups, "model").map((group) => [group.model, group.nodes.length])).toEqual([["A100", 6], ["T4", 3]]);
  });

  it("merges by node set", () => {
    expect(regroup(map.groups, "set").map((group) => [group.nodeSet, group.nodes.length])).toEqual([["a", 5], ["b", 4]]);
  });
});
