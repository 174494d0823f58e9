// From points to tiles and vessels, and from tile to tile by arrow keys.
import { describe, expect, it } from "vitest";
import { REFERENCE_PLAN, aMap } from "./fixture";
import { hitTest, neighbour } from "./hit";
import { layoutMap, tilesByNode, type Tile } from "./layout";

const layout = layoutMap(aMap(REFERENCE_PLAN).groups, 1364, 760);
const tiles = tilesByNode(layout);
const tile = (id: number): Tile => tiles.get(id) as Tile;

describe("hitTest", () => {
  it("finds every vessel of every node at its middle", () => {
    for (const block of layout.blocks) {
      for (const node of block.nodes) {
        const { x, y } = tile(node.id);
        node.devices.forEach((_, vessel) => {
          const hit = hitTest(layout, x + 2 + vessel * 5 + 2, y + 7);
          expect([hit?.node.id, hit?.vessel]).toEqual([node.id, vessel]);
        });
      }
    }
  });

  it("finds a host without devices", () => {
    const host = layout.blocks.find((block) => block.group.model === null)?.nodes[5];
    const at = tile(host?.id ?? 0);
    expect(hitTest(layout, at.x + 6, at.y + 7)).toMatchObject({ node: { id: host?.id }, vessel: null });
  });

  it("finds nothing in headings, gutters and beyond", () => {
    expect(hitTest(layout, 5, 5)).toBeNull();
    expect(hitTest(layout, 440, 100)).toBeNull();
    expect(hitTest(layout, -50, -50)).toBeNull();
    expect(hitTest(layout, 45, 33)).toBeNull();
  });
});

describe("neighbour", () => {
  it("walks along a row and down a column", () => {
    expect(neighbour(tiles, tile(1), "right")).toBe(2);
    expect(neighbour(tiles, tile(2), "left")).toBe(1);
    expect(neighbour(tiles, tile(1), "down")).toBe(10);
    expect(neighbour(tiles, tile(10), "up")).toBe(1);
  });

  it("crosses to the next column and stops at the rim", () => {
    expect(tile(neighbour(tiles, tile(9), "right") ?? 0).block.x).toBe(450);
    expect(neighbour(tiles, tile(1), "left")).toBeNull();
    expect(neighbour(tiles, tile(1), "up")).toBeNull();
  });
});
