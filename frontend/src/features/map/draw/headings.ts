// Draws group headings: rule, name, model, count, level bar and the figure of the mode.
import { ZOOM, type Camera } from "../pure/camera";
import { HEADING_PX, NAMES, type Block } from "../pure/layout";
import { groupLevel, kindOf } from "../pure/levels";
import { fitEnd } from "./tiles";
import type { Scene } from "./scene";

const STICK = 20;
const LEAST_ROOM = 14;
const BAR = { width: 64, height: 8, inner: 3, room: 250 } as const;

/** Top of a heading in CSS px: it keeps its size and stays just above its first row at every zoom. */
export function headingTop(block: Block, camera: Camera): number {
  const above = HEADING_PX + (camera.zoom >= ZOOM.names ? NAMES.px : 0);
  return Math.round((block.y + block.heading - camera.y) * camera.zoom - above);
}

interface HeadingSpan {
  readonly left: number;
  readonly right: number;
  readonly top: number;
}

function span(scene: Scene, block: Block): HeadingSpan | null {
  const { camera } = scene;
  const cssWidth = scene.width / scene.ratio;
  const start = (block.x - camera.x) * camera.zoom;
  const width = block.width * camera.zoom;
  const top = headingTop(block, camera);
  const left = start < STICK && start + width > 260 ? STICK : Math.round(start);
  if (top > scene.height / scene.ratio + STICK || top < -30 || left > cssWidth || start + width < 0) return null;
  return { left, right: Math.round(start + width), top };
}

function drawLevelBar(scene: Scene, block: Block, right: number, top: number, figureWidth: number): void {
  const { context: c, palette, ratio } = scene;
  const level = groupLevel(block.group.nodes, scene.mode);
  const x = Math.round((right - BAR.width) * ratio - Math.max(figureWidth + 8 * ratio, 62 * ratio));
  const bar = (colour: string, share: number, inset: number, height: number): void => {
    c.fillStyle = colour;
    c.fillRect(x, Math.round((top + 7 + inset) * ratio), Math.round(BAR.width * share * ratio), Math.round(height * ratio));
  };
  bar(palette.track, 1, 0, BAR.height);
  if (level.booked !== null) bar(palette.booked, level.booked, 0, BAR.height);
  if (level.measured !== null) bar(palette.water, level.measured, 3, BAR.inner);
}

function drawFigure(scene: Scene, block: Block, right: number, top: number): number {
  const { context: c, palette, ratio, words } = scene;
  const figure = words.figure(block.group);
  c.textAlign = "right";
  c.font = `600 ${String(12 * ratio)}px ${palette.font}`;
  c.fillStyle = palette.ink;
  c.fillText(figure, right * ratio, (top + 15) * ratio);
  c.textAlign = "left";
  return c.measureText(figure).width;
}

function drawNames(scene: Scene, block: Block, left: number, top: number, room: number): void {
  const { context: c, palette, ratio, words } = scene;
  const { name, model, count } = words.group(block.group, block.from);
  const end = (left + room) * ratio;
  let x = left * ratio;
  const parts = [
    { text: name, weight: 600, colour: palette.ink },
    { text: model, weight: 400, colour: palette.ink2 },
    { text: count, weight: 400, colour: palette.ink3 },
  ];
  for (const part of parts.filter(({ text }) => text !== "")) {
    c.font = `${String(part.weight)} ${String(12 * ratio)}px ${palette.font}`;
    c.fillStyle = part.colour;
    const text = fitEnd(c, part.text, end - x);
    if (text === "" || (part.text === count && text !== count)) return;
    c.fillText(text, x, (top + 15) * ratio);
    x += c.measureText(text).width + 8 * ratio;
  }
}

/** Wipe a heading, up to its first row of tiles. */
export function clearHeading(scene: Scene, block: Block): void {
  const where = span(scene, block);
  if (where === null) return;
  const { context: c, ratio } = scene;
  c.clearRect(where.left * ratio, where.top * ratio, (where.right - where.left) * ratio, 20 * ratio);
}

/** One heading; parts of a group after the first carry its name only. */
export function drawHeading(scene: Scene, block: Block): void {
  const where = span(scene, block);
  if (where === null || block.heading * scene.camera.zoom < LEAST_ROOM) return;
  const { context: c, palette, ratio } = scene;
  const { left, top } = where;
  c.textBaseline = "alphabetic";
  c.fillStyle = palette.lineStrong;
  c.fillRect(left * ratio, top * ratio, (where.right - left) * ratio, Math.max(1, Math.round(ratio)));
  const cssWidth = scene.width / ratio;
  const right = Math.min(where.right, cssWidth - STICK);
  const bare = block.from > 0 || left >= cssWidth - BAR.room || right - left < BAR.room;
  let used = 0;
  if (!bare) {
    const figureWidth = drawFigure(scene, block, right, top);
    const hasBar = kindOf(scene.mode) === "levels";
    if (hasBar) drawLevelBar(scene, block, right, top, figureWidth);
    used = hasBar ? Math.max(figureWidth / ratio + 8, 62) + BAR.width : figureWidth / ratio;
  }
  drawNames(scene, block, left, top, right - left - used - 10);
}
