// From a point on the map to the node and device under it, and from a tile to its neighbour.
import { ROW_PITCH, TILE_GAP, TILE_HEIGHT, VESSEL, tileAt, type Layout, type Tile } from "./layout";
import type { MapNode } from "./model";

export interface Hit {
  readonly node: MapNode;
  readonly tile: Tile;
  /** Position of the vessel within the node; null on the tile's edge or on a host without devices. */
  readonly vessel: number | null;
}

export type Direction = "left" | "right" | "up" | "down";

function vesselAt(node: MapNode, tile: Tile, x: number): number | null {
  if (node.devices.length === 0) return null;
  const vessel = Math.floor((x - tile.x - VESSEL.pad + VESSEL.gap / 2) / (VESSEL.width + VESSEL.gap));
  return vessel >= 0 && vessel < node.devices.length ? vessel : null;
}

/** The tile under a point in map coordinates, with `slack` px around tiles. */
export function hitTest(layout: Layout, x: number, y: number, slack = 1): Hit | null {
  for (const block of layout.blocks) {
    if (x < block.x - slack || x > block.x + block.width + slack) continue;
    if (y < block.y + block.heading - slack || y > block.y + block.height) continue;
    const column = Math.floor((x - block.x + slack) / (block.tileWidth + TILE_GAP));
    const row = Math.floor((y - block.y - block.heading + slack) / ROW_PITCH);
    if (column < 0 || column >= block.perRow || row < 0) continue;
    const index = row * block.perRow + column;
    const node = block.nodes[index];
    if (!node) continue;
    const tile = tileAt(block, index);
    if (x > tile.x + block.tileWidth + slack || y > tile.y + TILE_HEIGHT + slack) continue;
    return { node, tile, vessel: vesselAt(node, tile, x) };
  }
  return null;
}

const centre = (tile: Tile): readonly [number, number] => [tile.x + tile.block.tileWidth / 2, tile.y + TILE_HEIGHT / 2];

function cost(from: Tile, to: Tile, direction: Direction): number | null {
  const [fx, fy] = centre(from);
  const [tx, ty] = centre(to);
  const horizontal = direction === "left" || direction === "right";
  const sign = direction === "right" || direction === "down" ? 1 : -1;
  const ahead = sign * (horizontal ? tx - fx : ty - fy);
  const aside = Math.abs(horizontal ? ty - fy : tx - fx);
  return ahead < 0.5 ? null : ahead + 2.5 * aside;
}

/** The nearest tile in a direction; null at the rim. */
export function neighbour(tiles: Iterable<readonly [number, Tile]>, from: Tile, direction: Direction): number | null {
  let best: number | null = null;
  let least = Infinity;
  for (const [id, tile] of tiles) {
    const price = cost(from, tile, direction);
    if (price !== null && price < least) {
      least = price;
      best = id;
    }
  }
  return best;
}
