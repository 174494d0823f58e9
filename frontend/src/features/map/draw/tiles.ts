// Draws tiles: grounds, vessels with their levels in batches, then state marks and figures on top.
import { isClosed, isUnheard, deviceMark } from "../pure/marks";
import { holderOf } from "../pure/holders";
import {
  TEMPERATURE_SCALE, deviceLevel, hostLevel, kindOf, rampStep, vesselPixels, type Level,
} from "../pure/levels";
import { VESSEL } from "../pure/layout";
import { ZOOM } from "../pure/camera";
import type { MapDevice } from "../pure/model";
import type { RectBatch } from "./batch";
import {
  drawGate, drawMissing, drawNodeQuarantined, drawQuarantined, drawRecovered, drawSuspect, drawUnknown, drawVesselGate,
} from "./marks";
import type { Box, Metrics, PlacedTile, Scene } from "./scene";

const MARKED_SOLID = new Set(["missing", "unknown", "quarantined"]);
const FIGURE_IN_WATER = 12;
const FIGURE_WIDTH = 15;

/** Box of the i-th vessel of a tile. */
export function vesselBox(tile: Box, index: number, m: Metrics): Box {
  const x = tile.x + Math.round(VESSEL.pad * m.scale + index * m.step);
  return { x, y: tile.y + m.pad, width: m.vesselWidth, height: m.vesselHeight };
}

/** The vessel from top to bottom, each part only where it is seen: fewer rectangles keep the pass short. A host's use
 * above its bookings is its system at work, nobody's business; on a device it is somebody's. */
function addLevels(batch: RectBatch, scene: Scene, box: Box, level: Level, isHost = false): void {
  const { palette } = scene;
  const { booked, measured, over } = vesselPixels(level, box.height);
  const top = Math.max(booked, measured + over);
  const floor = box.y + box.height;
  batch.add("track", palette.track, box.x, box.y, box.width, box.height - top);
  batch.add("booked", palette.booked, box.x, floor - booked, box.width, booked - measured);
  batch.add("measured", palette.waterArea, box.x, floor - measured, box.width, measured);
  batch.add(isHost ? "measured" : "over", isHost ? palette.waterArea : palette.signalFill, box.x, floor - measured - over, box.width, over);
}

interface RampReading {
  readonly step: number;
  readonly over: boolean;
}

/** Step of the ramp for the mode's reading; null when there is none. */
export function rampReading(device: MapDevice, scene: Pick<Scene, "mode" | "powerScaleW">): RampReading | null {
  if (scene.mode === "temperature") {
    if (device.tempC === null) return null;
    const { from, to, limit } = TEMPERATURE_SCALE;
    return { step: rampStep(device.tempC, from, to), over: device.tempC > limit };
  }
  if (device.powerMw === null) return null;
  return { step: rampStep(device.powerMw / 1000, 0, scene.powerScaleW), over: false };
}

const isRamp = (scene: Pick<Scene, "mode">): boolean => kindOf(scene.mode) === "ramp";
const hasLevels = (scene: Pick<Scene, "mode">): boolean => kindOf(scene.mode) === "levels";

/** Booked height in the colour of who holds it. */
function addHolder(batch: RectBatch, scene: Scene, box: Box, device: MapDevice): void {
  const { palette } = scene;
  const { booked } = vesselPixels({ ...deviceLevel(device, "level"), measured: null }, box.height);
  const place = scene.holders.get(holderOf(device, scene.mode) ?? "");
  const colour = place === undefined ? palette.lineStrong : (palette.categories[place] ?? palette.lineStrong);
  batch.add("track", palette.track, box.x, box.y, box.width, box.height - booked);
  batch.add("booked", colour, box.x, box.y + box.height - booked, box.width, booked);
}

/** From so many px per slice on, each slice is parted from the next; below, one cut says that there are slices. */
const SLICE_PX = 4;

function addCuts(batch: RectBatch, scene: Scene, box: Box, device: MapDevice, m: Metrics): void {
  const slices = device.slices.length;
  if (slices === 0) return;
  const parts = box.height / slices >= SLICE_PX * scene.ratio ? slices : 2;
  for (let cut = 1; cut < parts; cut += 1) {
    batch.add("over", scene.palette.tile, box.x, box.y + Math.round((box.height * cut) / parts), box.width, m.line);
  }
}

function addVessel(batch: RectBatch, scene: Scene, box: Box, device: MapDevice, m: Metrics): void {
  const kind = kindOf(scene.mode);
  if (kind === "levels") addLevels(batch, scene, box, deviceLevel(device, scene.mode));
  if (kind === "holder") addHolder(batch, scene, box, device);
  if (kind === "health") batch.add("track", scene.palette.ramp[1] ?? scene.palette.track, box.x, box.y, box.width, box.height);
  if (kind === "ramp") addReading(batch, scene, box, device, m);
  addCuts(batch, scene, box, device, m);
}

function addReading(batch: RectBatch, scene: Scene, box: Box, device: MapDevice, m: Metrics): void {
  const reading = rampReading(device, scene);
  const colour = reading === null ? scene.palette.track : (scene.palette.ramp[reading.step] ?? scene.palette.track);
  batch.add("track", colour, box.x, box.y, box.width, box.height);
  if (!reading?.over) return;
  const cap = Math.max(2 * m.line, Math.round(m.scale * 2));
  batch.add("over", scene.palette.signalFill, box.x, box.y, box.width, cap);
}

function hostBox(tile: Box, m: Metrics): Box {
  return { x: tile.x + m.pad, y: tile.y + m.pad, width: tile.width - 2 * m.pad, height: tile.height - 2 * m.pad };
}

/** Add the ground of a tile and the levels in it to the batch. */
export function addTile(batch: RectBatch, scene: Scene, { node, box }: PlacedTile, m: Metrics): void {
  const frame = isUnheard(node.state) ? 0 : m.line;
  if (frame > 0) batch.add("frame", scene.palette.line, box.x, box.y, box.width, box.height);
  batch.add("ground", scene.palette.tile, box.x + frame, box.y + frame, box.width - 2 * frame, box.height - 2 * frame);
  if (node.devices.length === 0) {
    const inner = hostBox(box, m);
    if (!hasLevels(scene)) batch.add("track", scene.palette.track, inner.x, inner.y, inner.width, inner.height);
    else if (!isUnheard(node.state)) addLevels(batch, scene, inner, hostLevel(node, scene.mode), true);
  }
  node.devices.forEach((device, i) => {
    if (!MARKED_SOLID.has(deviceMark(node, device))) addVessel(batch, scene, vesselBox(box, i, m), device, m);
  });
}

function hasReading(device: MapDevice, scene: Scene): boolean {
  if (!isRamp(scene) && !hasLevels(scene)) return true;
  if (isRamp(scene)) return rampReading(device, scene) !== null;
  return deviceLevel(device, scene.mode).measured !== null;
}

function markVessel(scene: Scene, tile: PlacedTile, device: MapDevice, box: Box, m: Metrics): void {
  const { context: c, palette } = scene;
  const mark = deviceMark(tile.node, device);
  if (mark === "missing") drawMissing(c, box, m, palette);
  else if (mark === "quarantined") drawQuarantined(c, box, m, palette);
  else if (mark === "unknown") drawUnknown(c, box, m, palette, palette.raise);
  else if (!hasReading(device, scene)) drawUnknown(c, box, m, palette, null);
  if (mark === "suspect") drawSuspect(c, box, m, palette);
  if (mark === "recovered") drawRecovered(c, box, m, palette);
  if (device.cordoned) drawVesselGate(c, box, m, palette);
}

function markHost(scene: Scene, { node, box }: PlacedTile, m: Metrics): void {
  if (node.devices.length > 0) return;
  const unheard = isUnheard(node.state);
  if (!hasLevels(scene) && !unheard) return;
  if (!unheard && hostLevel(node, scene.mode).measured !== null) return;
  drawUnknown(scene.context, hostBox(box, m), m, scene.palette, unheard ? scene.palette.raise : null);
}

/** Marks of a tile and its vessels, drawn above all levels. */
export function markTile(scene: Scene, tile: PlacedTile, m: Metrics): void {
  const { context: c, palette } = scene;
  const { node, box } = tile;
  if (isUnheard(node.state)) {
    c.strokeStyle = palette.unknown;
    c.lineWidth = m.line;
    c.setLineDash([2 * m.line, 2 * m.line]);
    c.strokeRect(box.x + m.line / 2, box.y + m.line / 2, box.width - m.line, box.height - m.line);
    c.setLineDash([]);
  }
  markHost(scene, tile, m);
  node.devices.forEach((device, i) => {
    markVessel(scene, tile, device, vesselBox(box, i, m), m);
  });
  if (isClosed(node.state)) drawGate(c, box, m, palette);
  if (node.state === "quarantined") drawNodeQuarantined(c, box, m, palette);
}

/** The figure in a vessel: per cent, degrees or watts. */
function figureOf(device: MapDevice, scene: Scene): number | null {
  if (scene.mode === "temperature") return device.tempC;
  if (scene.mode === "power") return device.powerMw === null ? null : Math.round(device.powerMw / 1000);
  const { measured } = deviceLevel(device, scene.mode);
  return measured === null ? null : Math.round(measured * 100);
}

interface FigurePlace {
  readonly colour: string;
  /** Px above the vessel's floor. */
  readonly above: number;
}

/** In the water where it is deep enough, else just above it. */
function figurePlace(scene: Scene, device: MapDevice, box: Box): FigurePlace {
  const { palette, ratio } = scene;
  const low = 4 * ratio;
  if (isRamp(scene)) {
    const step = rampReading(device, scene)?.step ?? 0;
    return { colour: step >= palette.rampTurn ? palette.raise : palette.ink, above: low };
  }
  const pixels = vesselPixels(deviceLevel(device, scene.mode), box.height);
  const level = pixels.measured + pixels.over;
  if (level > FIGURE_IN_WATER * ratio) return { colour: palette.raise, above: low };
  return { colour: pixels.booked > level ? palette.ink : palette.ink2, above: level === 0 ? low : level + 3 * ratio };
}

function drawFigures(scene: Scene, { node, box }: PlacedTile, m: Metrics): void {
  const { context: c, palette, ratio } = scene;
  if (m.vesselWidth < FIGURE_WIDTH * ratio || !(isRamp(scene) || hasLevels(scene))) return;
  c.textAlign = "center";
  node.devices.forEach((device, i) => {
    if (MARKED_SOLID.has(deviceMark(node, device))) return;
    const figure = figureOf(device, scene);
    const at = vesselBox(box, i, m);
    if (figure === null) return;
    const { colour, above } = figurePlace(scene, device, at);
    c.font = `600 ${String((figure >= 100 ? 8 : 10) * ratio)}px ${palette.font}`;
    c.fillStyle = colour;
    c.fillText(String(figure), at.x + at.width / 2, at.y + at.height - above);
  });
  c.textAlign = "left";
}

function drawHostFigure(scene: Scene, { node, box }: PlacedTile, m: Metrics): void {
  const { context: c, palette, ratio } = scene;
  const level = hostLevel(node, scene.mode);
  if (node.devices.length > 0 || !hasLevels(scene) || level.measured === null || isUnheard(node.state)) return;
  const inner = hostBox(box, m);
  const water = vesselPixels(level, inner.height);
  c.textAlign = "center";
  c.font = `600 ${String(10 * ratio)}px ${palette.font}`;
  c.fillStyle = water.measured + water.over > FIGURE_IN_WATER * ratio ? palette.raise : palette.ink;
  const figure = scene.words.per(level.measured);
  c.fillText(figure, inner.x + inner.width / 2, inner.y + inner.height - 4 * ratio);
  c.textAlign = "left";
}

/** Name, state in words and figures, from the zoom of names on. */
export function nameTile(scene: Scene, tile: PlacedTile, m: Metrics): void {
  const { context: c, palette, ratio, words } = scene;
  const { node, box } = tile;
  if (scene.camera.zoom < ZOOM.names || box.width <= 40 * ratio) return;
  c.textAlign = "left";
  c.font = `500 ${String(11 * ratio)}px ${palette.font}`;
  c.fillStyle = palette.ink2;
  const name = fitText(c, node.name, box.width);
  c.fillText(name, box.x, box.y - 5 * ratio);
  if (node.state !== "ready") {
    const after = c.measureText(name).width;
    c.font = `600 ${String(11 * ratio)}px ${palette.font}`;
    c.fillStyle = palette.ink;
    c.fillText(words.state(node.state), box.x + after + 6 * ratio, box.y - 5 * ratio);
  }
  drawFigures(scene, tile, m);
  drawHostFigure(scene, tile, m);
}

/** Shorten at the end. */
export function fitEnd(c: Pick<CanvasRenderingContext2D, "measureText">, text: string, width: number): string {
  if (c.measureText(text).width <= width) return text;
  for (let length = text.length - 1; length > 0; length -= 1) {
    const shorter = `${text.slice(0, length).trimEnd()}…`;
    if (c.measureText(shorter).width <= width) return shorter;
  }
  return "";
}

/** Shorten from the left, where names of one cluster are alike. */
export function fitText(c: Pick<CanvasRenderingContext2D, "measureText">, text: string, width: number): string {
  if (c.measureText(text).width <= width) return text;
  for (let cut = 1; cut < text.length; cut += 1) {
    const shorter = `…${text.slice(cut)}`;
    if (c.measureText(shorter).width <= width) return shorter;
  }
  return "…";
}
