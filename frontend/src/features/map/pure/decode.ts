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
  queues: string[];
  teams: string[];
  columns: { nodes: string[]; devices: string[] };
}

const NODE_COLUMNS = [
  "id", "name", "state", "node_set", "cpu_count", "booked_cores", "cpu_used_milli", "memory_mib",
  "booked_memory_mib", "memory_used_mib", "rack",
] as const;
const DEVICE_COLUMNS = [
  "id", "index", "model_idx", "health", "cordoned", "memory_total_mib", "booked_mib", "booked_milli", "used_mib",
  "util_pct", "temp_c", "power_mw", "jobs_count", "parent", "queue_idx", "team_idx",
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

type DeviceColumns = Positions<(typeof DEVICE_COLUMNS)[number]>;
type Names = Pick<MapDocument, "models" | "queues" | "teams">;

const named = (names: readonly string[], position: unknown): string | null => (typeof position === "number" ? (names[position] ?? null) : null);

function decodeDevice(row: Row, at: DeviceColumns, { models, queues, teams }: Names): MapDevice {
  return {
    id: numberOr0(row[at.id]),
    index: numberOr0(row[at.index]),
    model: named(models, row[at.model_idx]),
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
    queue: named(queues, row[at.queue_idx]),
    team: named(teams, row[at.team_idx]),
    slices: [],
  };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** A partitioned device takes nothing beside its slices: what is booked of it is what is booked of them. */
function withSlices(device: MapDevice, slices: readonly MapDevice[]): MapDevice {
  if (slices.length === 0) return device;
  const holder = [...slices].sort((a, b) => b.bookedMilli - a.bookedMilli).find((slice) => slice.queue !== null);
  return {
    ...device, slices, bookedMib: device.bookedMib + sum(slices.map((slice) => slice.bookedMib)), jobs: device.jobs + sum(slices.map((slice) => slice.jobs)),
    bookedMilli: Math.max(device.bookedMilli, Math.round(sum(slices.map((slice) => slice.bookedMilli)) / slices.length)),
    queue: device.queue ?? holder?.queue ?? null, team: device.team ?? holder?.team ?? null,
  };
}

/** Devices in order of their index, each with its slices; a slice whose device is not told of stands alone. */
function decodeDevices(rows: readonly Row[], at: DeviceColumns, names: Names): MapDevice[] {
  const wholes = new Map<number, MapDevice>();
  const slices = new Map<number, MapDevice[]>();
  const ids = new Set(rows.map((row) => row[at.id]));
  for (const row of rows) {
    const device = decodeDevice(row, at, names);
    const parent = numberOrNull(row[at.parent]);
    if (parent !== null && ids.has(parent)) slices.set(parent, [...(slices.get(parent) ?? []), device]);
    else wholes.set(device.id, device);
  }
  const byIndex = (a: MapDevice, b: MapDevice): number => a.index - b.index || a.id - b.id;
  return [...wholes.values()].map((device) => withSlices(device, (slices.get(device.id) ?? []).sort(byIndex))).sort(byIndex);
}

function decodeNode(
  row: Row, at: Positions<(typeof NODE_COLUMNS)[number]>, devices: readonly MapDevice[],
): MapNode {
  return {
    id: numberOr0(row[at.id]),
    name: String(row[at.name]),
    state: stateOf(row[at.state]),
    nodeSet: textOrNull(row[at.node_set]),
    rack: textOrNull(row[at.rack]),
    cpuCount: numberOrNull(row[at.cpu_count]),
    bookedCores: numberOr0(row[at.booked_cores]),
    cpuUsedMilli: numberOrNull(row[at.cpu_used_milli]),
    memoryMib: numberOrNull(row[at.memory_mib]),
    bookedMemoryMib: numberOr0(row[at.booked_memory_mib]),
    memoryUsedMib: numberOrNull(row[at.memory_used_mib]),
    devices,
  };
}

const LISTS = new Set(["devices", "slices"]);

function sameRecord(a: object, b: object): boolean {
  const left = a as Record<string, unknown>;
  const right = b as Record<string, unknown>;
  return Object.keys(left).every((key) => LISTS.has(key) || left[key] === right[key]);
}

function sameDevices(a: readonly MapDevice[], b: readonly MapDevice[]): boolean {
  return a.length === b.length && a.every((device, i) => {
    const other = b[i] as MapDevice;
    return sameRecord(device, other) && sameDevices(device.slices, other.slices);
  });
}

/** True when both nodes would be drawn alike. */
export function sameNode(a: MapNode, b: MapNode): boolean {
  return sameRecord(a, b) && sameDevices(a.devices, b.devices);
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

/** What each map was decoded from: a row that came again word for word is not decoded again. */
const documents = new WeakMap<ClusterMap, MapDocument>();

function sameRow(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
  // A hundred thousand values each time: a loop takes a third of what `every` does.
  for (let i = 0; i < a.length; i += 1) if (a[i] !== b[i] && !sameRow(a[i], b[i])) return false;
  return true;
}

function sameNames(a: MapDocument, b: MapDocument): boolean {
  const names = ({ models, queues, teams, columns }: MapDocument): unknown[] => [models, queues, teams, columns.nodes, columns.devices];
  return sameRow(names(a), names(b));
}

/** Rows of the previous document that mean what they would mean now. */
function knownRows(document: MapDocument, previous: ClusterMap | undefined): readonly Row[] {
  const known = previous === undefined ? undefined : documents.get(previous);
  return known !== undefined && sameNames(known, document) ? known.nodes : [];
}

/** Decode a document; nodes equal to those of `previous` are the same objects, so that only changes are redrawn. */
export function decodeMap(document: MapDocument, previous?: ClusterMap): ClusterMap {
  const nodeAt = positions("node", NODE_COLUMNS, document.columns.nodes);
  const deviceAt = positions("device", DEVICE_COLUMNS, document.columns.devices);
  const listed = document.columns.nodes.indexOf("devices");
  const devicesAt = listed < 0 ? document.columns.nodes.length : listed;
  const knownRow = knownRows(document, previous);
  const byId = new Map<number, MapNode>();
  document.nodes.forEach((row, i) => {
    const known = previous?.byId.get(numberOr0(row[nodeAt.id]));
    if (known && sameRow(knownRow[i], row)) {
      byId.set(known.id, known);
      return;
    }
    const node = decodeNode(row, nodeAt, decodeDevices((row[devicesAt] ?? []) as Row[], deviceAt, document));
    byId.set(node.id, known && sameNode(known, node) ? known : node);
  });
  const map = { at: document.at, groups: decodeGroups(document, byId), nodes: [...byId.values()], byId };
  documents.set(map, document);
  return map;
}
