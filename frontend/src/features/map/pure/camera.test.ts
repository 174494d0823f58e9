// Zoom and pan.
import { describe, expect, it } from "vitest";
import { cameraAt, clampCamera, homeCamera, isHome, nodeAtAnchor, panBy, reveal, wholeCamera, zoomAt } from "./camera";
import { REFERENCE_PLAN, aMap } from "./fixture";
import { layoutMap, tilesByNode, type Tile } from "./layout";

const size = { width: 1364, height: 760 };
const layout = layoutMap(aMap(REFERENCE_PLAN).groups, size.width, size.height);
const tiles = tilesByNode(layout);

describe("camera", () => {
  it("starts at home with the margins of the page", () => {
    expect(homeCamera(layout)).toEqual({ x: -20, y: -10, zoom: 1 });
    expect(isHome(homeCamera(layout), layout)).toBe(true);
  });

  it("zooms around the pointer", () => {
    const before = homeCamera(layout);
    const after = zoomAt(before, 2, 300, 200);
    expect(after.zoom).toBe(2);
    expect(after.x + 300 / 2).toBeCloseTo(before.x + 300);
    expect(after.y + 200 / 2).toBeCloseTo(before.y + 200);
  });

  it("stops at both ends of the zoom", () => {
    expect(zoomAt(homeCamera(layout), 100, 0, 0).zoom).toBe(8);
    expect(zoomAt(homeCamera(layout), 0.001, 0, 0).zoom).toBe(0.25);
  });

  it("shows the whole cluster, smaller than zoom 1 where it must", () => {
    expect(wholeCamera(layout, size)).toEqual(homeCamera(layout));
    const flat = wholeCamera(layout, { width: 1364, height: 300 });
    expect(flat.zoom).toBeLessThan(1);
    expect(layout.height * flat.zoom).toBeLessThanOrEqual(300);
  });

  it("never loses the map", () => {
    const lost = clampCamera(panBy(homeCamera(layout), 90_000, -90_000), layout, size);
    expect(lost.x).toBeLessThan(layout.width);
    expect(lost.y).toBeGreaterThan(-size.height);
  });

  it("names its place by a node and comes back to it", () => {
    const camera = cameraAt(tiles.get(400) as Tile, 4.2, size, layout);
    expect(nodeAtAnchor(tiles, camera, size)).toBe(400);
  });

  it("does not look past the rim for a tile near it", () => {
    const camera = cameraAt(tiles.get(1) as Tile, 4, size, layout);
    expect([camera.x, camera.y]).toEqual([-5, -2.5]);
  });

  it("reveals a tile that is out of sight and leaves one that is seen", () => {
    const near = { x: 0, y: 0, zoom: 4 };
    const camera = reveal(near, tiles.get(160) as Tile, size);
    expect(camera.y).toBeGreaterThan(0);
    expect(reveal(camera, tiles.get(160) as Tile, size)).toEqual(camera);
  });
});
