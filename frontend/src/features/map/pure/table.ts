// The map's data as rows of a table: one per device, one per host without devices.
import { deviceMark, isLit, type Filter } from "./marks";
import { hostLevel, memoryLevel, occupancyLevel } from "./levels";
import type { ClusterMap, DeviceHealth, MapDevice, MapNode } from "./model";

export interface TableRow {
  readonly key: string;
  readonly node: MapNode;
  readonly index: number | null;
  /** Index of a slice within its device. */
  readonly slice: number | null;
  readonly device: MapDevice | null;
  readonly rack: string | null;
  readonly queue: string | null;
  readonly team: string | null;
  readonly model: string | null;
  readonly nodeSet: string | null;
  readonly health: DeviceHealth | null;
  readonly isCordoned: boolean;
  readonly booked: number | null;
  readonly measured: number | null;
  readonly memoryBooked: number | null;
  readonly memoryMeasured: number | null;
  readonly tempC: number | null;
  readonly powerMw: number | null;
  readonly jobs: number | null;
}

export const SORTS = [
  "name", "nodeSet", "rack", "model", "health", "booked", "measured", "memoryBooked", "memoryMeasured", "tempC", "powerMw", "jobs",
  "queue", "team",
] as const;
export type Sort = (typeof SORTS)[number];

function hostRow(node: MapNode): TableRow {
  const cores = hostLevel(node, "level");
  const memory = hostLevel(node, "memory");
  return {
    key: String(node.id), node, index: null, slice: null, device: null, model: null, nodeSet: node.nodeSet, rack: node.rack, health: null, isCordoned: false,
    queue: null, team: null,
    booked: cores.booked, measured: cores.measured, memoryBooked: memory.booked, memoryMeasured: memory.measured,
    tempC: null, powerMw: null, jobs: null,
  };
}

function deviceRows(node: MapNode): TableRow[] {
  return node.devices.flatMap((device) => [deviceRow(node, device, null), ...device.slices.map((slice) => deviceRow(node, device, slice))]);
}

function deviceRow(node: MapNode, whole: MapDevice, slice: MapDevice | null): TableRow {
  const device = slice ?? whole;
  const use = occupancyLevel(device);
  const memory = memoryLevel(device);
  return {
    key: `${String(node.id)}.${String(whole.index)}${slice ? `/${String(slice.id)}` : ""}`, node, index: whole.index, slice: slice?.index ?? null, device, model: device.model, nodeSet: node.nodeSet,
    rack: node.rack, queue: device.queue, team: device.team, health: deviceMark(node, device), isCordoned: device.cordoned, booked: use.booked, measured: use.measured,
    memoryBooked: memory.booked, memoryMeasured: memory.measured, tempC: device.tempC, powerMw: device.powerMw,
    jobs: device.jobs,
  };
}

/** Rows of the lit nodes, narrowed to the devices that match the spotlight where it is about devices. */
export function tableRows(map: ClusterMap, filter: Filter): TableRow[] {
  const { spot } = filter;
  const rows = map.nodes.filter((node) => isLit(node, filter)).flatMap((node) => (node.devices.length ? deviceRows(node) : [hostRow(node)]));
  if (spot === null || spot === "silent") return rows;
  return rows.filter((row) => row.health === spot || row.node.state === spot || (spot === "cordoned" && isLit(row.node, filter)));
}

function valueOf(row: TableRow, sort: Sort): string | number | null {
  return sort === "name" ? row.node.name : row[sort];
}

/** Sort a copy; unknown stands last in both directions, equal rows by node and device. */
export function sortRows(rows: readonly TableRow[], sort: Sort, isDown: boolean): TableRow[] {
  const sign = isDown ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [left, right] = [valueOf(a, sort), valueOf(b, sort)];
    if (left !== right && (left === null || right === null)) return left === null ? 1 : -1;
    const order =
      typeof left === "number" && typeof right === "number"
        ? left - right
        : String(left).localeCompare(String(right), undefined, { numeric: true });
    return sign * order || a.node.name.localeCompare(b.node.name, undefined, { numeric: true }) || (a.index ?? 0) - (b.index ?? 0) || (a.slice ?? -1) - (b.slice ?? -1);
  });
}
