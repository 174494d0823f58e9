// Draws the minimap: every node as one mark of the load ramp, and the frame of the view.
import type { Camera, Size } from "../pure/camera";
import { TILE_HEIGHT, tileAt, type Layout } from "../pure/layout";
import { RAMP_STEPS, deviceLevel } from "../pure/levels";
import { isUnheard } from "../pure/marks";
import type { MapNode } from "../pure/model";
import { RectBatch } from "./batch";
import type { Palette } from "./palette";

export const MINI = { width: 124, height: 72 } as const;
const RIM = 12;

/** Scale that fits the whole map into the minimap. */
export function miniScale(layout: Layout): number {
  return Math.min(MINI.width / (layout.width + 2 * RIM), MINI.height / (layout.height + 2 * RIM));
}

/** The part of the minimap that the map fills. */
export function miniSize(layout: Layout): { readonly width: number; readonly height: number } {
  const scale = miniScale(layout);
  return { width: Math.min(MINI.width, Math.ceil((layout.width + 2 * RIM) * scale)), height: Math.min(MINI.height, Math.ceil((layout.height + 2 * RIM) * scale)) };
}

function colourOf(node: MapNode, palette: Palette): string {
  if (isUnheard(node.state)) return palette.unknown;
  const known = node.devices.map((device) => deviceLevel(device, "level").measured).filter((value) => value !== null);
  if (known.length === 0) return palette.lineStrong;
  const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
  return palette.ramp[Math.round(mean * (RAMP_STEPS - 1))] ?? palette.lineStrong;
}

/** Draw all nodes; done on new data or layout, not while the view moves. */
export function drawMiniNodes(c: CanvasRenderingContext2D, layout: Layout, palette: Palette, ratio: number): void {
  const scale = miniScale(layout) * ratio;
  const batch = new RectBatch();
  c.clearRect(0, 0, MINI.width * ratio, MINI.height * ratio);
  for (const block of layout.blocks) {
    block.nodes.forEach((node, index) => {
      const tile = tileAt(block, index);
      const width = Math.max(1, Math.round(block.tileWidth * scale) - 0.5);
      const height = Math.max(1, Math.round(TILE_HEIGHT * scale));
      batch.add("track", colourOf(node, palette), Math.round((tile.x + RIM) * scale), Math.round((tile.y + RIM) * scale), width, height);
    });
  }
  batch.flush(c);
}

export interface MiniFrame {
  /** Of the whole minimap, which shows no more than there is. */
  readonly box: { readonly width: number; readonly height: number };
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** The view's frame in CSS px of the minimap. */
export function miniFrame(layout: Layout, camera: Camera, size: Size): MiniFrame {
  const scale = miniScale(layout);
  const left = Math.max(1, (camera.x + RIM) * scale);
  const top = Math.max(1, (camera.y + RIM) * scale);
  const box = miniSize(layout);
  const right = Math.min(box.width - 1, (camera.x + RIM + size.width / camera.zoom) * scale);
  const bottom = Math.min(box.height - 1, (camera.y + RIM + size.height / camera.zoom) * scale);
  return { box, left, top, width: Math.max(2, right - left), height: Math.max(2, bottom - top) };
}

/** The camera that centres the view on a point of the minimap. */
export function cameraFromMini(layout: Layout, camera: Camera, size: Size, px: number, py: number): Camera {
  const scale = miniScale(layout);
  const x = px / scale - RIM - size.width / camera.zoom / 2;
  const y = py / scale - RIM - size.height / camera.zoom / 2;
  return { ...camera, x, y };
}
