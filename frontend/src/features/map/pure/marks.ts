// Which mark a node or device carries on the map, and what the state chips count and spotlight.
import type { ClusterMap, DeviceHealth, MapDevice, MapNode, NodeState } from "./model";

export const SPOTS = ["suspect", "quarantined", "missing", "unknown", "recovered", "cordoned", "silent"] as const;
export type Spot = (typeof SPOTS)[number];

export interface SpotCount {
  readonly nodes: number;
  readonly devices: number;
}

const CLOSED: ReadonlySet<NodeState> = new Set<NodeState>(["cordoned", "draining", "maintenance"]);
const UNHEARD: ReadonlySet<NodeState> = new Set<NodeState>(["silent", "lost", "enrolled"]);
const CAPACITY: ReadonlySet<DeviceHealth> = new Set<DeviceHealth>(["healthy", "suspect"]);

/** An operator closed the node: it carries the gate. */
export function isClosed(state: NodeState): boolean {
  return CLOSED.has(state);
}

/** No valid report stands behind what we know of the node: dashed tile, all stipple. */
export function isUnheard(state: NodeState): boolean {
  return UNHEARD.has(state);
}

/** The mark of a device; on a node that is not heard nothing is known of it. */
export function deviceMark(node: MapNode, device: MapDevice): DeviceHealth {
  return isUnheard(node.state) ? "unknown" : device.health;
}

/** Does the device take new jobs and count as capacity? */
export function isCapacity(node: MapNode, device: MapDevice): boolean {
  return node.state === "ready" && CAPACITY.has(device.health) && !device.cordoned;
}

function nodeMatches(node: MapNode, spot: Spot): boolean {
  if (spot === "cordoned") return isClosed(node.state);
  if (spot === "silent") return node.state === "silent" || node.state === "lost";
  return spot === "quarantined" && node.state === "quarantined";
}

function deviceMatches(node: MapNode, device: MapDevice, spot: Spot): boolean {
  if (spot === "cordoned") return device.cordoned;
  return spot !== "silent" && deviceMark(node, device) === spot;
}

/** What the tiles are narrowed to: a state, and a text in name, node set, rack or model. */
export interface Filter {
  readonly spot: Spot | null;
  readonly text: string | null;
}

function hasText(node: MapNode, text: string): boolean {
  const wanted = text.toLowerCase();
  const words = [node.name, node.nodeSet, node.rack, ...new Set(node.devices.map((device) => device.model))];
  return words.some((word) => word?.toLowerCase().includes(wanted));
}

/** Is the tile lit under the filter? */
export function isLit(node: MapNode, { spot, text }: Filter): boolean {
  if (text !== null && !hasText(node, text)) return false;
  if (spot === null || nodeMatches(node, spot)) return true;
  return node.devices.some((device) => deviceMatches(node, device, spot));
}

/** Ids of the lit nodes; null while nothing is filtered. */
export function litNodes(nodes: readonly MapNode[], filter: Filter): ReadonlySet<number> | null {
  if (filter.spot === null && filter.text === null) return null;
  return new Set(nodes.filter((node) => isLit(node, filter)).map((node) => node.id));
}

/** How many nodes and devices each state chip stands for. */
export function countSpots(map: ClusterMap): Record<Spot, SpotCount> {
  const count = (spot: Spot): SpotCount => ({
    nodes: map.nodes.filter((node) => nodeMatches(node, spot)).length,
    devices: map.nodes.reduce(
      (sum, node) => sum + node.devices.filter((device) => deviceMatches(node, device, spot)).length, 0),
  });
  return Object.fromEntries(SPOTS.map((spot) => [spot, count(spot)])) as Record<Spot, SpotCount>;
}
