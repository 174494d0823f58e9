// The invented cluster: queues, nodes, figures.
import type { Alert, AlertRule, NodeSummary, Overview, Queue, Silence } from "../src/api/types.ts";

const now = Date.now();
const ago = (seconds: number) => new Date(now - seconds * 1000).toISOString();
const CPU_ONLY = process.env.MOCK_CLUSTER === "cpu";

const wait = (p50: number, p95: number, p99: number) => ({ count: 214, mean: p50 * 1.6, p50, p95, p99 });

function queue(id: number, name: string, facts: Partial<Queue>): Queue {
  return {
    id, name, priority: 100, quota_percent: 30, model_caps: {}, borrowed_device_milli: 0, borrowed_core_milli: 0, preemptable: false, borrow: false, closed: false, paused: false, pending: 2, starting: 0, running: 612,
    booked_device_milli: 835_000, booked_core_milli: 12_000, capacity_device_milli: 5_881_000, capacity_core_milli: 115_000,
    cap_device_milli: 1_764_300, cap_core_milli: 34_500, wait_s: wait(3, 38, 130), ...facts,
  };
}

export const QUEUES: Queue[] = [
  queue(1, "inference", {}),
  queue(2, "training", { priority: 70, quota_percent: 50, pending: 37, running: 228, booked_device_milli: 2_682_000, cap_device_milli: 2_940_500, wait_s: wait(360, 2460, 7500) }),
  queue(3, "offline", { priority: 30, quota_percent: 20, preemptable: true, borrow: true, pending: 212, running: 1406, booked_device_milli: 1_382_000, borrowed_device_milli: 205_800, cap_device_milli: 1_176_200, wait_s: wait(1320, 11400, 24000) }),
].map((one) => (CPU_ONLY ? { ...one, capacity_device_milli: 0, booked_device_milli: 0, cap_device_milli: 0, capacity_core_milli: 8000, booked_core_milli: one.id * 700, cap_core_milli: one.id === 3 ? 1600 : 4000 } : one));

export const OVERVIEW: Overview = {
  at: ago(1),
  nodes: { total: 1206, enrolled: 0, ready: 1197, cordoned: 5, draining: 0, maintenance: 0, silent: 4, lost: 0, quarantined: 0 },
  devices: { total: 6000, schedulable: 5881, healthy: 5893, suspect: 31, quarantined: 25, recovered: 0, missing: 11, unknown: 40 },
  accelerators: { booked_percent: 83.3, measured_percent: { mean: 48.8, p50: 51, p95: 97, p99: 99 } },
  cpu: { booked_percent: 61.2, measured_percent: 38.4, cores: 115_000, booked_cores: 70_380 },
  memory: { booked_percent: 54.1, measured_percent: null, total_mib: 980_000_000, booked_mib: 530_000_000, used_mib: null },
  power_w: 1_310_000,
  jobs: { pending: 251, starting: 4, running: 2246, held: 12, finished_24h: 18_421, failed_24h: 213 },
  queues: QUEUES.map(({ name, pending, running, wait_s }) => ({ name, pending, running, wait_s })),
  waiting: [{ code: "device-memory-piece", count: 128 }, { code: "device-busy", count: 88 }, { code: "device-model", count: 24 }, { code: "cores-free", count: 11 }],
  alerts: { open: 5, critical: 1, acknowledged: 1, silenced: 1 },
  cycle: { at: ago(3), wall_ms: 212, considered: 288, placed: 37, waiting: 251 },
};

if (CPU_ONLY) {
  Object.assign(OVERVIEW, {
    nodes: { ...OVERVIEW.nodes, total: 1, ready: 1, cordoned: 0, silent: 0 }, devices: { total: 0, schedulable: 0, healthy: 0, suspect: 0, quarantined: 0, recovered: 0, missing: 0, unknown: 0 }, accelerators: { booked_percent: null, measured_percent: null },
    cpu: { booked_percent: 37.5, measured_percent: 21.2, cores: 8, booked_cores: 3 }, memory: { booked_percent: 12.5, measured_percent: 40.1, total_mib: 32_000, booked_mib: 4000, used_mib: 12_800 },
    power_w: null, jobs: { pending: 1, starting: 0, running: 2, held: 0, finished_24h: 14, failed_24h: 1 }, alerts: { open: 0, critical: 0, acknowledged: 0, silenced: 0 },
    waiting: [{ code: "cores-free", count: 1 }], cycle: { at: ago(3), wall_ms: 4, considered: 3, placed: 1, waiting: 2 },
    queues: QUEUES.map(({ name }, i) => ({ name, pending: i === 2 ? 1 : 0, running: i, wait_s: i === 0 ? { count: 0, mean: null, p50: null, p95: null, p99: null } : wait(0.4 * i, 1.1 * i, 2 * i) })),
  });
}

const alert = (id: number, code: string, severity: Alert["severity"], subject: [string, string], seconds: number, details: Alert["details"]): Alert => ({
  id, code, severity, subject_type: subject[0], subject_id: subject[1], details, raised_at: ago(seconds), cleared_at: null,
  acknowledged_at: null, acknowledged_by: "", note: "", silenced: false,
});

export const ALERTS: Alert[] = CPU_ONLY ? [] : [
  alert(1, "device-quarantined", "critical", ["device", "885"], 240, { node: 88, name: "as-088", index: 5, reason: "device lost (fatal)" }),
  alert(2, "node-silent", "warning", ["node", "131"], 160, { name: "ib-131" }),
  alert(3, "device-recovered", "warning", ["device", "12"], 540, { node: 7, name: "tb-007", index: 2 }),
  alert(4, "clock-offset", "warning", ["node", "12"], 1860, { name: "lx-012", offset_us: 71_000, uncertainty_us: 900 }),
  { ...alert(5, "device-flapping", "warning", ["device", "34"], 5400, { node: 31, name: "tb-031", index: 0, times: 6 }), acknowledged_at: ago(5000), acknowledged_by: "zhao.qi", note: "riser ordered" },
  { ...alert(6, "rule:device-hot", "warning", ["device", "35"], 700, { node: 31, name: "tb-031", index: 1, rule: "device-hot", metric: "device-temperature-c", value: 91, limit: 85 }), silenced: true },
  ...Array.from({ length: 11 }, (_, i) => alert(7 + i, "node-silent", "warning", ["node", String(200 + i)], 150 - i, { name: `ib-${200 + i}` })),
];

const STATES = ["ready", "ready", "ready", "cordoned", "ready", "silent", "ready", "draining"] as const;

export const NODES: NodeSummary[] = Array.from({ length: CPU_ONLY ? 1 : 40 }, (_, i) => {
  const state = CPU_ONLY ? "ready" : (STATES[i % STATES.length] as (typeof STATES)[number]);
  return {
    id: i + 1, name: CPU_ONLY ? "workstation" : `tb-${String(i + 1).padStart(3, "0")}`, state, state_reason: state === "cordoned" ? "disk swap" : "", node_set: "train-b",
    cpu_model: "EPYC 7763", cpu_count: CPU_ONLY ? 8 : 128, memory_mib: CPU_ONLY ? 32_000 : 1_048_576, devices: CPU_ONLY ? 0 : 8, device_models: CPU_ONLY ? [] : ["A100 SXM 80 GiB"],
    state_since: ago(9000), last_report_at: ago(state === "silent" ? 160 : 4), clock_offset_ms: i === 3 ? null : i === 11 ? 71 : 1.2, clock_uncertainty_ms: i === 3 ? null : 0.8, drain_deadline: null, observe_only: i === 9, agentless: false, isolates_users: i !== 2,
    simulated: false, agent_version: "0.1.0", labels: {},
  };
});

export const ALERT_RULES: AlertRule[] = [
  { name: "device-hot", metric: "device-temperature-c", above: 85, below: null, clear: 80, for_s: 300, severity: "warning", node_sets: [], models: [] },
  { name: "node-memory-full", metric: "node-memory-percent", above: 95, below: null, clear: 90, for_s: 300, severity: "warning", node_sets: [], models: [] },
];

export const SILENCES: Silence[] = [
  { id: 1, code: "", subject_type: "device", subject_id: "35", reason: "fan of tb-031 is being replaced", created_at: ago(600), created_by: "zhao.qi", until: new Date(Date.now() + 6_600_000).toISOString() },
];
