// Builds map documents for tests; nothing that ships imports it.
import { decodeMap, type MapDocument } from "./decode";
import type { ClusterMap, MapDevice, MapNode } from "./model";

export const NODE_COLUMNS = [
  "id", "name", "state", "node_set", "cpu_count", "booked_cores", "cpu_used_milli", "memory_mib", "booked_memory_mib",
  "memory_used_mib", "rack", "devices",
];
export const DEVICE_COLUMNS = [
  "id", "index", "model_idx", "health", "cordoned", "memory_total_mib", "booked_mib", "booked_milli", "used_mib",
  "util_pct", "temp_c", "power_mw", "jobs_count", "parent", "queue_idx", "team_idx",
];

export function aDevice(over: Partial<MapDevice> = {}): MapDevice {
  return {
    id: 1, index: 0, model: "A100", health: "healthy", cordoned: false, memoryTotalMib: 80_000, bookedMib: 0,
    bookedMilli: 0, usedMib: 0, utilPct: 0, tempC: 40, powerMw: 90_000, jobs: 0, queue: null, team: null, slices: [], ...over,
  };
}

export function aNode(over: Partial<MapNode> = {}): MapNode {
  return {
    id: 1, name: "n-1", state: "ready", nodeSet: "train", rack: null, cpuCount: 64, bookedCores: 0, cpuUsedMilli: 0,
    memoryMib: 512_000, bookedMemoryMib: 0, memoryUsedMib: 0, devices: [], ...over,
  };
}

export interface GroupPlan { set: string; model: string | null; nodes: number; devices: number }

/** A document of groups; device rows are healthy, half booked and 40 % used. */
export function aDocument(plan: readonly GroupPlan[]): MapDocument {
  const models = [...new Set(plan.map((group) => group.model).filter((model) => model !== null))];
  const nodes: unknown[][] = [];
  const groups = plan.map((group) => {
    const ids: number[] = [];
    for (let i = 0; i < group.nodes; i += 1) {
      const id = nodes.length + 1;
      const devices = Array.from({ length: group.devices }, (_, d) => [
        id * 100 + d, d, models.indexOf(group.model ?? ""), "healthy", false, 80_000, 40_000, 500, 30_000, 40, 55, 200_000, 1, null, 0, 0,
      ]);
      nodes.push([id, `${group.set}-${String(i + 1)}`, "ready", group.set, 64, 16, 8000, 512_000, 64_000, 50_000, null, devices]);
      ids.push(id);
    }
    return { node_set: group.set, model: group.model, nodes: ids };
  });
  return { at: "2026-11-30T03:12:00Z", groups, nodes, models, queues: ["training"], teams: ["nlp"], columns: { nodes: NODE_COLUMNS, devices: DEVICE_COLUMNS } };
}

export function aMap(plan: readonly GroupPlan[]): ClusterMap {
  return decodeMap(aDocument(plan));
}

/** The cluster of the design pictures: 1,206 nodes, 6,000 devices. */
export const REFERENCE_PLAN: readonly GroupPlan[] = [
  { set: "train-a", model: "H100", nodes: 160, devices: 8 },
  { set: "train-b", model: "A100", nodes: 140, devices: 8 },
  { set: "ascend-1", model: "910B", nodes: 150, devices: 8 },
  { set: "infer-a", model: "L40S", nodes: 200, devices: 4 },
  { set: "cpu-1", model: null, nodes: 136, devices: 0 },
  { set: "infer-b", model: "A10", nodes: 180, devices: 2 },
  { set: "infer-c", model: "310P", nodes: 120, devices: 4 },
  { set: "lab-1", model: "K100", nodes: 40, devices: 8 },
  { set: "lab-2", model: "MLU370", nodes: 50, devices: 4 },
  { set: "lab-3", model: "C500", nodes: 30, devices: 8 },
];
