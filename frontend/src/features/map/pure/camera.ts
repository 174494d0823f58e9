// The view's place over the map: x, y of the top left corner in map px, and zoom.
import { MARGIN, NAMES, TILE_HEIGHT, type Layout, type Tile } from "./layout";

export interface Camera {
  readonly x: number;
  readonly y: number;
  readonly zoom: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

export const ZOOM = { least: 0.25, most: 8, names: NAMES.zoom } as const;
/** Where a tile named in the address comes to stand, as shares of the canvas. */
const ANCHOR = { x: 0.42, y: 0.45 } as const;
const EDGE_KEEP = 60;
const REVEAL_PX = 8;

export function homeCamera(layout: Layout): Camera {
  return { x: -MARGIN.left / layout.home, y: -MARGIN.top / layout.home, zoom: layout.home };
}

/** The camera that shows everything at once, at the home zoom where that suffices. */
export function wholeCamera(layout: Layout, size: Size): Camera {
  const inner = { width: size.width - MARGIN.left - MARGIN.right, height: size.height - MARGIN.top - MARGIN.bottom };
  const fit = Math.min(inner.width / layout.width, inner.height / layout.height);
  if (fit >= layout.home) return homeCamera(layout);
  const zoom = Math.max(ZOOM.least, fit);
  return { x: -MARGIN.left / zoom, y: -MARGIN.top / zoom, zoom };
}

export function isHome(camera: Camera, layout: Layout): boolean {
  const home = homeCamera(layout);
  const near = (a: number, b: number): boolean => Math.abs(a - b) < 0.01;
  return near(camera.zoom, home.zoom) && near(camera.x, home.x) && near(camera.y, home.y);
}

/** Keep a strip of the map in sight. */
export function clampCamera(camera: Camera, layout: Layout, size: Size): Camera {
  const keep = EDGE_KEEP / camera.zoom;
  const x = Math.min(layout.width - keep, Math.max(keep - size.width / camera.zoom, camera.x));
  const y = Math.min(layout.height - keep, Math.max(keep - size.height / camera.zoom, camera.y));
  return { ...camera, x, y };
}

/** Zoom by `factor` around a point of the canvas. */
export function zoomAt(camera: Camera, factor: number, px: number, py: number): Camera {
  const zoom = Math.min(ZOOM.most, Math.max(ZOOM.least, camera.zoom * factor));
  return { x: camera.x + px / camera.zoom - px / zoom, y: camera.y + py / camera.zoom - py / zoom, zoom };
}

export function panBy(camera: Camera, dx: number, dy: number): Camera {
  return { ...camera, x: camera.x + dx / camera.zoom, y: camera.y + dy / camera.zoom };
}

function within(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(Math.max(least, most), value));
}

/** Bring a tile to the anchor of the canvas, as far as the map reaches. */
export function cameraAt(tile: Tile, zoom: number, size: Size, layout: Layout): Camera {
  const x = tile.x - (size.width / zoom) * ANCHOR.x;
  const y = tile.y - (size.height / zoom) * ANCHOR.y;
  const right = layout.width + (MARGIN.right - size.width) / zoom;
  const bottom = layout.height + (MARGIN.bottom - size.height) / zoom;
  return { x: within(x, -MARGIN.left / zoom, right), y: within(y, -MARGIN.top / zoom, bottom), zoom };
}

/** Move as little as needed so that a tile is seen whole. */
export function reveal(camera: Camera, tile: Tile, size: Size): Camera {
  const margin = REVEAL_PX / camera.zoom;
  const right = tile.x + tile.block.tileWidth + margin - size.width / camera.zoom;
  const bottom = tile.y + TILE_HEIGHT + margin - size.height / camera.zoom;
  const x = Math.min(tile.x - margin, Math.max(right, camera.x));
  const y = Math.min(tile.y - 2 * margin, Math.max(bottom, camera.y));
  return { ...camera, x, y };
}

/** The node whose tile stands nearest to the anchor: names the view in the address. */
export function nodeAtAnchor(tiles: Iterable<readonly [number, Tile]>, camera: Camera, size: Size): number | null {
  const ax = camera.x + (size.width / camera.zoom) * ANCHOR.x;
  const ay = camera.y + (size.height / camera.zoom) * ANCHOR.y;
  let best: number | null = null;
  let least = Infinity;
  for (const [id, tile] of tiles) {
    const away = Math.hypot(tile.x - ax, tile.y - ay);
    if (away < least) {
      least = away;
      best = id;
    }
  }
  return best;
}
