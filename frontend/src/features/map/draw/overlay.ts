// Draws what follows the pointer, the keyboard and the open sheet, on a canvas of its own.
import type { Tile } from "../pure/layout";
import { sceneMetrics, tileBox } from "./drawMap";
import { vesselBox } from "./tiles";
import type { Scene } from "./scene";

export interface OverlayMarks {
  readonly hovered: Tile | null;
  readonly focused: Tile | null;
  readonly selected: { readonly tile: Tile; readonly vessel: number | null } | null;
}

function outline(scene: Scene, tile: Tile, away: number, width: number, colour: string): void {
  const { context: c, ratio } = scene;
  const box = tileBox(scene, tile, sceneMetrics(scene));
  c.strokeStyle = colour;
  c.lineWidth = width * ratio;
  const by = away * ratio;
  c.strokeRect(box.x - by, box.y - by, box.width + 2 * by, box.height + 2 * by);
}

function drawSelected(scene: Scene, tile: Tile, vessel: number | null): void {
  const { context: c, palette, ratio } = scene;
  outline(scene, tile, 2.5, 1.5, palette.ink);
  if (vessel === null) return;
  const m = sceneMetrics(scene);
  const box = vesselBox(tileBox(scene, tile, m), vessel, m);
  c.lineWidth = 2 * ratio;
  c.strokeStyle = palette.focus;
  c.strokeRect(box.x - 2 * ratio, box.y - 2 * ratio, box.width + 4 * ratio, box.height + 4 * ratio);
}

/** Clear and draw hover, focus and selection. */
export function drawOverlay(scene: Scene, marks: OverlayMarks): void {
  scene.context.clearRect(0, 0, scene.width, scene.height);
  if (marks.selected) drawSelected(scene, marks.selected.tile, marks.selected.vessel);
  if (marks.hovered) outline(scene, marks.hovered, 1.5, 1, scene.palette.ink2);
  if (marks.focused) outline(scene, marks.focused, 3, 2, scene.palette.focus);
}
