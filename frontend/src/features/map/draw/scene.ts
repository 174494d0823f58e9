// What one pass needs: the canvas in device pixels, the camera's scale, colours and words.
import type { Camera } from "../pure/camera";
import { VESSEL } from "../pure/layout";
import type { MapMode } from "../pure/levels";
import type { MapGroup, MapNode, NodeState } from "../pure/model";
import type { Palette } from "./palette";

/** The words drawn on the canvas, in the language in force. */
export interface SceneWords {
  readonly group: (group: MapGroup, from: number) => { readonly name: string; readonly model: string; readonly count: string };
  readonly figure: (group: MapGroup) => string;
  readonly state: (state: NodeState) => string;
  readonly per: (value: number) => string;
}

export interface Scene {
  readonly context: CanvasRenderingContext2D;
  readonly width: number;
  readonly height: number;
  /** Device pixels per CSS pixel. */
  readonly ratio: number;
  readonly camera: Camera;
  readonly palette: Palette;
  readonly mode: MapMode;
  /** Ids of the lit nodes; null while nothing is filtered. */
  readonly lit: ReadonlySet<number> | null;
  /** Place of each queue's or team's colour. */
  readonly holders: ReadonlyMap<string, number>;
  readonly powerScaleW: number;
  readonly words: SceneWords;
}

/** Geometry of a vessel and its tile in device pixels at the scene's zoom. */
export interface Metrics {
  readonly scale: number;
  readonly line: number;
  readonly pad: number;
  readonly step: number;
  readonly vesselWidth: number;
  readonly vesselHeight: number;
  readonly tileHeight: number;
}

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A tile as it is drawn. */
export interface PlacedTile {
  readonly node: MapNode;
  readonly box: Box;
}

const SPARE_BELOW_NAMES = 1;

/** Measures for a zoom; from the zoom of names on, the tile yields a pixel of height to the name below it. */
export function metricsFor(zoom: number, ratio: number, named: boolean): Metrics {
  const scale = zoom * ratio;
  const tall = VESSEL.height + 2 * VESSEL.pad - (named ? SPARE_BELOW_NAMES : 0);
  return {
    scale,
    line: Math.max(1, Math.round(ratio)),
    pad: Math.round(VESSEL.pad * scale),
    step: (VESSEL.width + VESSEL.gap) * scale,
    vesselWidth: Math.max(ratio < 1.5 ? 1 : 2, Math.round(VESSEL.width * scale)),
    vesselHeight: Math.max(1, Math.round(VESSEL.height * scale)),
    tileHeight: Math.max(1, Math.round(tall * scale)),
  };
}
