// One pass over the map: the whole canvas, or only the tiles that changed.
import { ZOOM } from "../pure/camera";
import { tileAt, type Block, type Layout, type Tile } from "../pure/layout";
import type { MapNode } from "../pure/model";
import { RectBatch } from "./batch";
import { clearHeading, drawHeading } from "./headings";
import { metricsFor, type Box, type Metrics, type PlacedTile, type Scene } from "./scene";
import { addTile, markTile, nameTile } from "./tiles";

const DIMMED = 0.22;
/** Height of a name above its tile, in CSS px. */
const NAME_ABOVE = 16;

export function sceneMetrics(scene: Scene): Metrics {
  return metricsFor(scene.camera.zoom, scene.ratio, scene.camera.zoom >= ZOOM.names);
}

/** Box of a tile on the canvas. */
export function tileBox(scene: Pick<Scene, "camera">, tile: Tile, m: Metrics): Box {
  const x = Math.round((tile.x - scene.camera.x) * m.scale);
  const y = Math.round((tile.y - scene.camera.y) * m.scale);
  return { x, y, width: Math.max(1, Math.round(tile.block.tileWidth * m.scale)), height: m.tileHeight };
}

function isSeen(scene: Scene, box: Box): boolean {
  const rim = 20 * scene.ratio;
  return box.x < scene.width + rim && box.y < scene.height + rim && box.x + box.width > -rim && box.y + box.height > -rim;
}

function blockIsSeen(scene: Scene, block: Block): boolean {
  const { camera, ratio } = scene;
  const right = camera.x + scene.width / ratio / camera.zoom;
  const bottom = camera.y + scene.height / ratio / camera.zoom;
  return block.x < right && block.y < bottom && block.x + block.width > camera.x && block.y + block.height > camera.y;
}

function drawTiles(scene: Scene, tiles: readonly PlacedTile[], m: Metrics, batch: RectBatch): void {
  const { lit: wanted } = scene;
  const dim = wanted === null ? [] : tiles.filter((tile) => !wanted.has(tile.node.id));
  const lit = wanted === null ? tiles : tiles.filter((tile) => wanted.has(tile.node.id));
  for (const [set, alpha] of [[dim, DIMMED], [lit, 1]] as const) {
    scene.context.globalAlpha = alpha;
    set.forEach((tile) => {
      addTile(batch, scene, tile, m);
    });
    batch.flush(scene.context);
    set.forEach((tile) => {
      markTile(scene, tile, m);
    });
    scene.context.globalAlpha = 1;
    set.forEach((tile) => {
      nameTile(scene, tile, m);
    });
  }
}

/** Draw everything. */
export function drawMap(scene: Scene, layout: Layout): void {
  const { context: c } = scene;
  c.clearRect(0, 0, scene.width, scene.height);
  const m = sceneMetrics(scene);
  const placed: PlacedTile[] = [];
  for (const block of layout.blocks.filter((entry) => blockIsSeen(scene, entry))) {
    block.nodes.forEach((node, index) => {
      const box = tileBox(scene, tileAt(block, index), m);
      if (isSeen(scene, box)) placed.push({ node, box });
    });
  }
  drawTiles(scene, placed, m, new RectBatch());
  layout.blocks.forEach((block) => {
    drawHeading(scene, block);
  });
}

/** Redraw the tiles of the nodes that changed and the headings of their groups; layout, camera and mode did not change. */
export function drawChanged(
  scene: Scene, layout: Layout, changed: readonly MapNode[], tiles: ReadonlyMap<number, Tile>,
): void {
  const { context: c, ratio } = scene;
  const m = sceneMetrics(scene);
  const placed = changed.flatMap((node) => {
    const tile = tiles.get(node.id);
    const box = tile ? tileBox(scene, tile, m) : null;
    return box && isSeen(scene, box) ? [{ node, box }] : [];
  });
  const rim = Math.max(m.line, Math.round(1.5 * m.scale));
  const above = Math.max(rim, scene.camera.zoom >= ZOOM.names ? NAME_ABOVE * ratio : 0);
  placed.forEach(({ box }) => {
    c.clearRect(box.x - rim, box.y - above, box.width + 2 * rim, box.height + above + rim);
  });
  drawTiles(scene, placed, m, new RectBatch());
  const groups = new Set(changed.map((node) => tiles.get(node.id)?.block.group));
  layout.blocks.filter((block) => groups.has(block.group)).forEach((block) => {
    clearHeading(scene, block);
    drawHeading(scene, block);
  });
}
