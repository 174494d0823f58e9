// Places every node as a tile: groups flow into columns, vessels are 4 x 11 px and all positions whole at zoom 1.
import type { MapGroup, MapNode } from "./model";

export const VESSEL = { width: 4, height: 11, gap: 1, pad: 2 } as const;
export const TILE_HEIGHT = VESSEL.height + 2 * VESSEL.pad;
export const TILE_GAP = 4;
export const ROW_PITCH = TILE_HEIGHT + 3;
/** Room of a heading in px; it keeps its size at every zoom. */
export const HEADING_PX = 25;
/** Room of the names above tiles in px, and the zoom from which they are drawn. */
export const NAMES = { px: 15, zoom: 3.4 } as const;
export const GROUP_FOOT = 6;
export const COLUMN = { ideal: 428, gutter: 22 } as const;
export const MARGIN = { left: 20, right: 16, top: 10, bottom: 8 } as const;

export const GROUPINGS = ["set-model", "model", "set", "rack"] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** A part of a group that stands in one column. */
export interface Block {
  readonly group: MapGroup;
  /** Index of its first node within the group; 0 for the part that carries the figures. */
  readonly from: number;
  readonly nodes: readonly MapNode[];
  readonly vessels: number;
  readonly tileWidth: number;
  readonly perRow: number;
  /** Room of the heading in map px. */
  readonly heading: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Layout {
  readonly blocks: readonly Block[];
  readonly width: number;
  readonly height: number;
  /** Zoom at which the cluster is first shown; whole, so that pixels stay sharp. */
  readonly home: number;
}

export interface Tile {
  readonly block: Block;
  readonly index: number;
  readonly x: number;
  readonly y: number;
}

const HOME_ZOOMS = [4, 3, 2, 1] as const;
const SPLIT_SLACK = 1.15;

const byName = new Intl.Collator(undefined, { numeric: true });

/** Nodes by their rack, those without one last. */
function byRack(groups: readonly MapGroup[]): readonly MapGroup[] {
  const racks = new Map<string, MapNode[]>();
  for (const group of groups) for (const node of group.nodes) racks.set(node.rack ?? "", [...(racks.get(node.rack ?? "") ?? []), node]);
  return [...racks.entries()]
    .sort(([a], [b]) => Number(a === "") - Number(b === "") || byName.compare(a, b))
    .map(([rack, nodes]) => ({ key: `rack|${rack}`, nodeSet: rack === "" ? null : rack, model: null, nodes }));
}

/** Merge the server's groups (node set and model) by model, by node set or by rack. */
export function regroup(groups: readonly MapGroup[], by: Grouping): readonly MapGroup[] {
  if (by === "set-model") return groups;
  if (by === "rack") return byRack(groups);
  const merged = new Map<string, { nodeSet: string | null; model: string | null; nodes: MapNode[] }>();
  for (const group of groups) {
    const key = (by === "model" ? group.model : group.nodeSet) ?? "";
    const entry = merged.get(key) ?? {
      nodeSet: by === "set" ? group.nodeSet : null, model: by === "model" ? group.model : null, nodes: [],
    };
    entry.nodes.push(...group.nodes);
    merged.set(key, entry);
  }
  return [...merged.entries()].map(([key, entry]) => ({ key: `${by}|${key}`, ...entry }));
}

type Draft = Omit<Block, "x" | "y" | "width">;

const heightOf = (count: number, perRow: number, heading: number): number =>
  heading + Math.ceil(count / perRow) * ROW_PITCH + GROUP_FOOT;

/** Room of headings in map px where `home` is the zoom at first sight. */
function headingAt(home: number): number {
  return Math.ceil((HEADING_PX + (home >= NAMES.zoom ? NAMES.px : 0)) / home);
}

export function tileWidthFor(vessels: number): number {
  return vessels * VESSEL.width + (vessels - 1) * VESSEL.gap + 2 * VESSEL.pad;
}

function draft(group: MapGroup, columnWidth: number, heading: number): Draft {
  const vessels = group.nodes.reduce((most, node) => Math.max(most, node.devices.length), 2);
  const tileWidth = tileWidthFor(vessels);
  const perRow = Math.max(1, Math.floor((columnWidth + TILE_GAP) / (tileWidth + TILE_GAP)));
  const height = heightOf(group.nodes.length, perRow, heading);
  return { group, from: 0, nodes: group.nodes, vessels, tileWidth, perRow, heading, height };
}

function split(whole: Draft, tallest: number): Draft[] {
  const rows = Math.max(1, Math.floor((tallest - whole.heading - GROUP_FOOT) / ROW_PITCH));
  if (whole.height <= tallest) return [whole];
  const parts = Math.ceil(Math.ceil(whole.nodes.length / whole.perRow) / rows);
  const size = Math.ceil(Math.ceil(whole.nodes.length / whole.perRow) / parts) * whole.perRow;
  return Array.from({ length: parts }, (_, part) => {
    const nodes = whole.nodes.slice(part * size, (part + 1) * size);
    return { ...whole, from: part * size, nodes, height: heightOf(nodes.length, whole.perRow, whole.heading) };
  }).filter((part) => part.nodes.length > 0);
}

function columnsNeeded(drafts: readonly Draft[], limit: number): number {
  let columns = 1;
  let used = 0;
  for (const { height } of drafts) {
    if (used > 0 && used + height > limit) {
      columns += 1;
      used = 0;
    }
    used += height;
  }
  return columns;
}

/** The least column height at which the drafts, in their order, fit the number of columns. */
function columnHeight(drafts: readonly Draft[], columns: number): number {
  let low = drafts.reduce((most, { height }) => Math.max(most, height), 1);
  let high = drafts.reduce((sum, { height }) => sum + height, 1);
  while (low < high) {
    const middle = (low + high) >> 1;
    if (columnsNeeded(drafts, middle) <= columns) high = middle;
    else low = middle + 1;
  }
  return low;
}

function place(drafts: readonly Draft[], limit: number, columnWidth: number): Block[] {
  let column = 0;
  let y = 0;
  return drafts.map((entry) => {
    if (y > 0 && y + entry.height > limit) {
      column += 1;
      y = 0;
    }
    const block: Block = { ...entry, x: column * (columnWidth + COLUMN.gutter), y, width: columnWidth };
    y += entry.height;
    return block;
  });
}

function layoutAt(groups: readonly MapGroup[], width: number, home: number): Layout {
  const columns = Math.max(1, Math.round((width + COLUMN.gutter) / (COLUMN.ideal + COLUMN.gutter)));
  const columnWidth = Math.floor((width - (columns - 1) * COLUMN.gutter) / columns);
  const whole = groups.map((group) => draft(group, columnWidth, headingAt(home)));
  const total = whole.reduce((sum, { height }) => sum + height, 0);
  const tallest = Math.max((total / columns) * SPLIT_SLACK, 6 * ROW_PITCH);
  const drafts = whole.flatMap((entry) => split(entry, tallest));
  const limit = columnHeight(drafts, columns);
  const blocks = place(drafts, limit, columnWidth);
  const height = blocks.reduce((most, block) => Math.max(most, block.y + block.height), 0);
  return { blocks, width: columns * columnWidth + (columns - 1) * COLUMN.gutter, height, home };
}

/** Lay out groups for a canvas of width x height px: the largest whole zoom at which all is seen, else zoom 1. */
export function layoutMap(groups: readonly MapGroup[], width: number, height: number): Layout {
  const inner = Math.max(160, width - MARGIN.left - MARGIN.right);
  for (const home of HOME_ZOOMS) {
    const layout = layoutAt(groups, Math.floor(inner / home), home);
    const fits = layout.height * home + MARGIN.top + MARGIN.bottom <= height;
    const wide = layout.blocks.every((block) => block.tileWidth <= block.width);
    if (home === 1 || (fits && wide)) return layout;
  }
  return layoutAt(groups, inner, 1);
}

/** Position of the n-th tile of a block. */
export function tileAt(block: Block, index: number): Tile {
  const x = block.x + (index % block.perRow) * (block.tileWidth + TILE_GAP);
  const y = block.y + block.heading + Math.floor(index / block.perRow) * ROW_PITCH;
  return { block, index, x, y };
}

/** Where every node stands, by node id. */
export function tilesByNode(layout: Layout): ReadonlyMap<number, Tile> {
  const tiles = new Map<number, Tile>();
  for (const block of layout.blocks) block.nodes.forEach((node, index) => tiles.set(node.id, tileAt(block, index)));
  return tiles;
}
