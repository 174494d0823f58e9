// The map's view in the address: mode, grouping, spotlight, zoom and place, open sheet, table.
import { GROUPINGS, type Grouping } from "./layout";
import { MODES, type MapMode } from "./levels";
import { SPOTS, type Spot } from "./marks";
import type { ClusterMap, DeviceAt, MapDevice, MapNode } from "./model";

export interface MapView {
  readonly mode: MapMode;
  readonly by: Grouping;
  readonly spot: Spot | null;
  /** Text that names, node sets, racks or models hold. */
  readonly find: string | null;
  /** Zoom; null while the view is at home. */
  readonly z: number | null;
  /** Node that stands at the view's anchor. */
  readonly at: string | null;
  readonly device: string | null;
  readonly node: string | null;
  readonly table: boolean;
  /** Time and form of the charts in an open sheet, which read them themselves. */
  readonly span: string | null;
  readonly charts: string | null;
}

export const DEFAULT_VIEW: MapView = {
  mode: "level", by: "set-model", spot: null, find: null, z: null, at: null, device: null, node: null, table: false, span: null,
  charts: null,
};

/** The router writes text that reads as a number in quotes. */
function unquote(value: string | null): string | null {
  if (value === null || value === "") return null;
  return value.length > 1 && value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value;
}

function oneOf<T extends string>(allowed: readonly T[], value: string | null): T | null {
  return allowed.find((entry) => entry === value) ?? null;
}

/** Read the address; what is not understood falls back to the default. */
export function parseView(search: string): MapView {
  const params = new URLSearchParams(search);
  const read = (name: string): string | null => unquote(params.get(name));
  const zoom = parseFloat(read("z") ?? "");
  return {
    mode: oneOf(MODES, read("mode")) ?? DEFAULT_VIEW.mode,
    by: oneOf(GROUPINGS, read("by")) ?? DEFAULT_VIEW.by,
    spot: oneOf(SPOTS, read("spot")),
    find: read("find"),
    z: Number.isFinite(zoom) && zoom > 0 ? zoom : null,
    at: read("at"),
    device: read("device"),
    node: read("node"),
    table: read("view") === "table",
    span: read("span"),
    charts: read("charts"),
  };
}

/** What the address carries; defaults are left out. Zoom is written as 4.2x: a bare number the router would quote. */
export function viewSearch(view: MapView): Record<string, string> {
  const entries: [string, string | null][] = [
    ["mode", view.mode === DEFAULT_VIEW.mode ? null : view.mode],
    ["by", view.by === DEFAULT_VIEW.by ? null : view.by],
    ["spot", view.spot],
    ["find", view.find],
    ["z", view.z === null ? null : `${String(Math.round(view.z * 100) / 100)}x`],
    ["at", view.at],
    ["device", view.device],
    ["node", view.node],
    ["view", view.table ? "table" : null],
    ["span", view.span],
    ["charts", view.charts],
  ];
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => entry[1] !== null));
}

const BY_ID = "id:";

/** Name of a node in the address: its name, or its id where two share the name. */
export function nodeKey(map: ClusterMap, node: MapNode): string {
  const alone = map.nodes.every((other) => other === node || other.name !== node.name);
  return alone ? node.name : `${BY_ID}${String(node.id)}`;
}

export function findNode(map: ClusterMap, key: string | null): MapNode | null {
  if (key === null) return null;
  const id = Number(key.startsWith(BY_ID) ? key.slice(BY_ID.length) : key);
  return map.nodes.find((node) => node.name === key) ?? map.byId.get(id) ?? null;
}

/** NODE.INDEX of a device, NODE.INDEX/SLICE of a slice. */
export function deviceKey(map: ClusterMap, node: MapNode, device: MapDevice): string {
  const whole = node.devices.find((entry) => entry.slices.includes(device));
  return `${nodeKey(map, node)}.${whole ? `${String(whole.index)}/${String(device.index)}` : String(device.index)}`;
}

/** Resolve what `deviceKey` made; node names may contain dots, the index follows the last one. */
export function findDevice(map: ClusterMap, key: string | null): DeviceAt | null {
  const dot = key?.lastIndexOf(".") ?? -1;
  if (key === null || dot < 1) return null;
  const node = findNode(map, key.slice(0, dot));
  const [index, slice] = key.slice(dot + 1).split("/");
  const whole = node?.devices.find((entry) => String(entry.index) === index);
  const device = slice === undefined ? whole : whole?.slices.find((entry) => String(entry.index) === slice);
  return node && device ? { node, device } : null;
}
