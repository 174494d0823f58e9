// The resource map as the console holds it: nodes, devices and groups, decoded from the compact document.

export const DEVICE_HEALTHS = ["unknown", "healthy", "suspect", "quarantined", "recovered", "missing"] as const;
export type DeviceHealth = (typeof DEVICE_HEALTHS)[number];

export const NODE_STATES = [
  "enrolled", "ready", "cordoned", "draining", "maintenance", "silent", "lost", "quarantined",
] as const;
export type NodeState = (typeof NODE_STATES)[number];

export interface MapDevice {
  readonly id: number;
  readonly index: number;
  readonly model: string | null;
  readonly health: DeviceHealth;
  readonly cordoned: boolean;
  readonly memoryTotalMib: number | null;
  readonly bookedMib: number;
  readonly bookedMilli: number;
  readonly usedMib: number | null;
  readonly utilPct: number | null;
  readonly tempC: number | null;
  readonly powerMw: number | null;
  readonly jobs: number;
  /** The queue and the team that hold most of it; null where nobody does, or a team that one may not see. */
  readonly queue: string | null;
  readonly team: string | null;
  /** Slices of a partitioned device; its own bookings and jobs are the sums of theirs. */
  readonly slices: readonly MapDevice[];
}

export interface MapNode {
  readonly id: number;
  readonly name: string;
  readonly state: NodeState;
  readonly nodeSet: string | null;
  readonly rack: string | null;
  readonly cpuCount: number | null;
  readonly bookedCores: number;
  readonly cpuUsedMilli: number | null;
  readonly memoryMib: number | null;
  readonly bookedMemoryMib: number;
  readonly memoryUsedMib: number | null;
  readonly devices: readonly MapDevice[];
}

export interface MapGroup {
  readonly key: string;
  readonly nodeSet: string | null;
  readonly model: string | null;
  readonly nodes: readonly MapNode[];
}

/** Who holds devices: a queue or a team, and how many devices it holds most of. */
export interface Holder {
  readonly name: string;
  readonly devices: number;
}

export interface ClusterMap {
  readonly at: string;
  readonly groups: readonly MapGroup[];
  readonly nodes: readonly MapNode[];
  readonly byId: ReadonlyMap<number, MapNode>;
}

/** A device and the node it sits in. */
export interface DeviceAt {
  readonly node: MapNode;
  readonly device: MapDevice;
}
