// Decodes GET map: rows are read by column name; a node whose row did not change keeps its identity.
import {
  DEVICE_HEALTHS, NODE_STATES,
  type ClusterMap, type DeviceHealth, type MapDevice, type MapGroup, type MapNode, type NodeState,
} from "./model";

export interface MapDocument {
  at: string;
  groups: { node_set: string | null; model: string | null; nodes: number[] }[];
  nodes: unknown[][];
  models: string[];
  columns: { nodes: string[]; devices: string[] };
}

const NODE_COLUMNS = [
  "id", "name", "state", "node_set", "cpu_count", "booked_cores", "cpu_used_milli", "memory_mib",
  "booked_memory_mib", "memory_used_mib",
] as const;
const DEVICE_COLUMNS = [
  "id", "index", "model_idx", "health", "cordoned", "memory_total_mib", "booked_mib", "booked_milli", "used_mib",
  "util_pct", "temp_c", "power_mw", "jobs_count",
] as const;

type Row = readonly unknown[];
type Positions<K extends string> = Record<K, number>;

function positions<K extends string>(table: string, wanted: readonly K[], columns: readonly string[]): Positions<K> {
  const missing = wanted.filter((name) => !columns.includes(name));
  if (missing.length > 0) throw new Error(`map document lacks ${table} column ${missing.join(", ")}`);
  return Object.fromEntries(wanted.map((name) => [name, columns.indexOf(name)])) as Positions<K>;
}

const numberOrNull = (value: unknown): number | null => (typeof value === "number" ? value : null);
const numberOr0 = (value: unknown): number => (typeof value === "number" ? value : 0);
const textOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null);

function healthOf(value: unknown): DeviceHealth {
  return DEVICE_HEALTHS.find((health) => health === value) ?? "unknown";
}

function stateOf(value: unknown): NodeState {
  return NODE_STATES.find((state) => state === value) ?? "enrolled";
}

function decodeDevice(row: Row, at: Positions<(typeof DEVICE_COLUMNS)[number]>, models: readonly string[]): MapDevice {
  const model = numberOrNull(row[at.model_idx]);
  return {
    id: numberOr0(row[at.id]),
    index: numberOr0(row[at.index]),
    model: model === null ? null : (models[model] ?? null),
    health: healthOf(row[at.health]),
    cordoned: Boolean(row[at.cordoned]),
    memoryTotalMib: numberOrNull(row[at.memory_total_mib]),
    bookedMib: numberOr0(row[at.booked_mib]),
    bookedMilli: numberOr0(row[at.booked_milli]),
    usedMib: numberOrNull(row[at.used_mib]),
    utilPct: numberOrNull(row[at.util_pct]),
    tempC: numberOrNull(row[at.temp_c]),
    powerMw: numberOrNull(row[at.power_mw]),
    jobs: numberOr0(row[at.jobs_count]),
  };
}

function decodeNode(
  row: Row, at: Positions<(typeof NODE_COLUMNS)[number]>, devices: readonly MapDevice[],
): MapNode {
  return {
    id: numberOr0(row[at.id]),
    name: String(row[at.name]),
    state: stateOf(row[at.state]),
    nodeSet: textOrNull(row[at.node_set]),
    cpuCount: numberOrNull(row[at.cpu_count]),
    bookedCores: numberOr0(row[at.booked_cores]),
    cpuUsedMilli: numberOrNull(row[at.cpu_used_milli]),
    memoryMib: numberOrNull(row[at.memory_mib]),
    bookedMemoryMib: numberOr0(row[at.booked_memory_mib]),
    memoryUsedMib: numberOrNull(row[at.memory_used_mib]),
    devices,
  };
}

function sameRecord(a: object, b: object): boolean {
  const left = a as Record<string, unknown>;
  const right = b as Record<string, unknown>;
  return Object.keys(left).every((key) => key === "devices" || left[key] === right[key]);
}

/** True when both nodes would be drawn alike. */
export function sameNode(a: MapNode, b: MapNode): boolean {
  if (!sameRecord(a, b) || a.devices.length !== b.devices.length) return false;
  return a.devices.every((device, i) => sameRecord(device, b.devices[i] as MapDevice));
}

function decodeGroups(document: MapDocument, byId: ReadonlyMap<number, MapNode>): MapGroup[] {
  const seen = new Set<number>();
  const groups = document.groups.map((group) => {
    const nodes = group.nodes.filter((id) => !seen.has(id) && byId.has(id)).map((id) => byId.get(id) as MapNode);
    nodes.forEach((node) => seen.add(node.id));
    return { key: `${group.node_set ?? ""}|${group.model ?? ""}`, nodeSet: group.node_set, model: group.model, nodes };
  });
  const rest = [...byId.values()].filter((node) => !seen.has(node.id));
  if (rest.length > 0) groups.push({ key: "rest", nodeSet: null, model: null, nodes: rest });
  return groups.filter((group) => group.nodes.length > 0);
}

/** Decode a document; nodes equal to those of `previous` are the same objects, so that only changes are redrawn. */
export function decodeMap(document: MapDocument, previous?: ClusterMap): ClusterMap {
  const nodeAt = positions("node", NODE_COLUMNS, document.columns.nodes);
  const deviceAt = positions("device", DEVICE_COLUMNS, document.columns.devices);
  const listed = document.columns.nodes.indexOf("devices");
  const devicesAt = listed < 0 ? document.columns.nodes.length : listed;
  const byId = new Map<number, MapNode>();
  for (const row of document.nodes) {
    const rows = (row[devicesAt] ?? []) as Row[];
    const devices = rows.map((device) => decodeDevice(device, deviceAt, document.models));
    devices.sort((a, b) => a.index - b.index);
    const node = decodeNode(row, nodeAt, devices);
    const known = previous?.byId.get(node.id);
    byId.set(node.id, known && sameNode(known, node) ? known : node);
  }
  return { at: document.at, groups: decodeGroups(document, byId), nodes: [...byId.values()], byId };
}
