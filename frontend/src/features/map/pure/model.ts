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
}

export interface MapNode {
  readonly id: number;
  readonly name: string;
  readonly state: NodeState;
  readonly nodeSet: string | null;
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
