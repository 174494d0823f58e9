// The invented machines: 1,523 nodes with 6,212 devices as the map, the sheets and the charts see them.
import type { DeviceEvent, Readings } from "../src/api/inventory.ts";
import type { ClusterMap, Cpu, Device, DeviceHealth, MapDeviceRow, MapNodeRow, NodeDetail, NodeState } from "../src/api/types.ts";
import { NODES } from "./cluster.ts";

const now = Date.now();
const ago = (seconds: number) => new Date(now - seconds * 1000).toISOString();
const CPU_ONLY = process.env.MOCK_CLUSTER === "cpu";
const GIB = 1024;

/** A value in 0..1 that is the same for the same numbers. */
function chance(...of: number[]): number {
  const mixed = of.reduce((sum, value) => Math.imul(sum ^ value, 2654435761) ^ (sum >>> 15), 0x9e3779b9);
  return ((mixed ^ (mixed >>> 13)) >>> 0) / 2 ** 32;
}

interface Kin { set: string; model: string | null; vendor: Device["vendor"]; gib: number; watts: number; nodes: number; devices: number }
const PLAN: readonly Kin[] = CPU_ONLY ? [{ set: "lab", model: null, vendor: "nvidia", gib: 0, watts: 0, nodes: 1, devices: 0 }] : [
  { set: "train-a", model: "NVIDIA H100 80GB HBM3", vendor: "nvidia", gib: 80, watts: 700, nodes: 160, devices: 8 },
  { set: "train-b", model: "NVIDIA A100-SXM4-80GB", vendor: "nvidia", gib: 80, watts: 400, nodes: 190, devices: 8 },
  { set: "ascend-1", model: "Ascend 910B3", vendor: "ascend", gib: 64, watts: 310, nodes: 150, devices: 8 },
  { set: "infer-a", model: "NVIDIA L40S", vendor: "nvidia", gib: 48, watts: 350, nodes: 250, devices: 4 },
  { set: "infer-b", model: "NVIDIA A10", vendor: "nvidia", gib: 24, watts: 150, nodes: 299, devices: 2 },
  { set: "infer-c", model: "Ascend 310P3", vendor: "ascend", gib: 24, watts: 72, nodes: 150, devices: 4 },
  { set: "lab", model: "NVIDIA T4", vendor: "nvidia", gib: 16, watts: 70, nodes: 14, devices: 1 },
  { set: "cpu-1", model: null, vendor: "nvidia", gib: 0, watts: 0, nodes: 310, devices: 0 },
];
const QUEUES = ["inference", "offline", "training"];
const TEAMS = ["nlp", "search", "speech", "vision"];
const PARTITIONED = 7;
const PER_NODE = 32;

interface Place { id: number; at: number; kin: Kin; name: string }
const PLACES: Place[] = PLAN.flatMap((kin) => Array.from({ length: kin.nodes }, (_, at) => ({ at, kin })))
  .map(({ at, kin }, i) => ({ id: i + 1, at, kin, name: CPU_ONLY ? "workstation" : `${kin.set}-${String(at + 1).padStart(3, "0")}` }));

function stateOf({ id }: Place): NodeState {
  if (CPU_ONLY) return "ready";
  const drawn = chance(id, 1);
  return drawn < 0.004 ? "silent" : drawn < 0.009 ? "cordoned" : drawn < 0.011 ? "draining" : drawn < 0.013 ? "maintenance" : "ready";
}

function healthOf(node: number, index: number): DeviceHealth {
  const drawn = chance(node, index, 2);
  return drawn < 0.004 ? "quarantined" : drawn < 0.009 ? "suspect" : drawn < 0.011 ? "missing" : drawn < 0.016 ? "unknown" : drawn < 0.017 ? "recovered" : "healthy";
}

interface Use { bookedMib: number; milli: number; usedMib: number | null; util: number | null; temp: number | null; mw: number | null; jobs: number; queue: number | null; team: number | null }

function loadOf({ id, kin }: Place, index: number): Use {
  const total = kin.gib * GIB;
  const [kind, busy] = [chance(id, 3), chance(id, index, 4)];
  const health = healthOf(id, index);
  const known = health !== "unknown" && health !== "missing";
  const share = kind < 0.55 ? 1 : kind < 0.8 ? Math.round(busy * 8) / 10 : 0;
  const util = known ? Math.round(share === 0 ? chance(id, index, 5) * 2 : share * (30 + 70 * busy)) : null;
  const over = chance(id, index, 6) < 0.01 ? 1.2 : 1;
  const holder = share === 0 ? null : kind < 0.35 ? 2 : kind < 0.55 ? 1 : 0;
  return {
    bookedMib: Math.round(total * share), milli: Math.round(1000 * share), usedMib: known ? Math.round(Math.min(1, share * (0.3 + 0.6 * busy) * over) * total) : null,
    util, temp: util === null ? null : 31 + Math.round(util * 0.42 + chance(id, index, 7) * 12), mw: util === null ? null : Math.round(kin.watts * (0.15 + 0.75 * (util / 100)) * 1000),
    jobs: share === 0 ? 0 : share === 1 ? 1 : 2, queue: holder, team: holder === null ? null : Math.floor(chance(id, 8) * TEAMS.length),
  };
}

const deviceId = (node: number, index: number): number => node * PER_NODE + index;

/** Slices of the first device of one node, as MIG makes them. */
function sliceRows(place: Place): MapDeviceRow[] {
  if (place.id !== PARTITIONED || CPU_ONLY) return [];
  return [0, 1, 2].map((slice) => [
    deviceId(place.id, 16 + slice), slice, 0, "healthy", false, 20 * GIB, slice === 2 ? 0 : 20 * GIB, slice === 2 ? 0 : 1000, slice === 2 ? 0 : 11 * GIB, null, null, null,
    slice === 2 ? 0 : 1, deviceId(place.id, 0), slice === 2 ? null : 0, slice === 2 ? null : 1,
  ] as MapDeviceRow);
}

const MODELS = [...new Set(PLAN.map((kin) => kin.model).filter((model) => model !== null))];

function nodeRow(place: Place): MapNodeRow {
  const { id, kin, name } = place;
  const devices = Array.from({ length: kin.devices }, (_, index) => {
    const use = loadOf(place, index);
    const model = MODELS.indexOf(kin.model ?? "");
    return [
      deviceId(id, index), index, model, healthOf(id, index), chance(id, index, 9) < 0.002, chance(id, index, 10) < 0.001 ? null : kin.gib * GIB, use.bookedMib, use.milli,
      use.usedMib, use.util, use.temp, use.mw, use.jobs, null, use.queue, use.team,
    ] as MapDeviceRow;
  });
  const cores = kin.devices === 8 ? 192 : 64;
  const booked = Math.round(chance(id, 11) * cores);
  const rack = CPU_ONLY ? null : `${kin.set[0]}${String(Math.floor(place.at / 12) + 1).padStart(2, "0")}`;
  return [id, name, stateOf(place), kin.set, cores, booked, Math.round(booked * 1000 * chance(id, 12)), cores * 8 * GIB, booked * 4 * GIB, booked * 3 * GIB, rack, [...devices, ...sliceRows(place)]];
}

const ROWS = PLACES.map(nodeRow);

/** The map; a few readings differ at every asking. */
export function mapAnswer(): ClusterMap {
  return {
    at: new Date().toISOString(), models: MODELS, queues: QUEUES, teams: TEAMS,
    groups: PLAN.map((kin) => ({ node_set: kin.set, model: kin.model, nodes: PLACES.filter((place) => place.kin === kin).map((place) => place.id) })),
    nodes: ROWS,
    columns: {
      nodes: ["id", "name", "state", "node_set", "cpu_count", "booked_cores", "cpu_used_milli", "memory_mib", "booked_memory_mib", "memory_used_mib", "rack", "devices"],
      devices: [
        "id", "index", "model_idx", "health", "cordoned", "memory_total_mib", "booked_mib", "booked_milli", "used_mib", "util_pct", "temp_c", "power_mw", "jobs_count",
        "parent", "queue_idx", "team_idx",
      ],
    },
  };
}

const EVIDENCE = "GPU 5: [GPU requires reset]\n\u001b[31mXid (PCI:0000:9a:00): 79, GPU has fallen off the bus\u001b[0m\nVolatile Uncorr. ECC: 4 (before: 0)";

export function deviceAnswer(id: number): Device | null {
  const node = Math.floor(id / PER_NODE);
  const index = id % PER_NODE;
  const place = PLACES.find((entry) => entry.id === node);
  if (!place || (index >= place.kin.devices && !(node === PARTITIONED && index >= 16))) return null;
  const isSlice = index >= 16;
  const use = loadOf(place, isSlice ? 0 : index);
  const row = ROWS[node - 1]?.at(-1) as MapDeviceRow[];
  const own = row.find((entry) => entry[0] === id) as MapDeviceRow;
  const health = own[3];
  const { kin } = place;
  return {
    id, parent: isSlice ? deviceId(node, 0) : null, node, node_name: place.name, index: own[1], identity: `GPU-4b1d${String(id)}`, uuid: `${isSlice ? "MIG" : "GPU"}-4b1d77a0-${String(id).padStart(12, "0")}`,
    pci_bus_id: isSlice ? null : `0000:${(0x1a + index * 0x11).toString(16)}:00.0`, vendor: kin.vendor, model: isSlice ? "1g.20gb" : kin.model, memory_total_mib: own[5], memory_reserved_mib: 640, compute_units: isSlice ? null : 132,
    compute_milli: isSlice ? 143 : null, memory_group: isSlice ? (own[1] === 2 ? 2 : 1) : null, driver_version: "550.90.07", numa_node: index % 8 < 4 ? 0 : 1, cpu_affinity: null, power_limit_w: kin.watts,
    health, health_since: ago(7400), health_reason: health === "quarantined" ? "device lost (fatal)" : health === "suspect" ? "ecc-uncorrectable" : "", health_evidence: health === "healthy" ? "" : EVIDENCE, flapping: health === "suspect",
    cordoned: own[4], foreign_mib: chance(id, 13) < 0.1 ? 3 * GIB : 0,
    catalogue: isSlice ? null : { name: kin.model ?? "", tdp_w: kin.watts, tflops: { fp16: 989, bf16: 989, fp32: 67 }, interconnect: "NVLink 4", source: "https://example.invalid/datasheet" },
    booked: { memory_mib: own[6], compute_milli: own[7] }, reading: own[9] === null && own[8] === null ? null : { at: ago(4), memory_used_mib: own[8], utilization_pct: own[9], temperature_c: own[10], power_mw: own[11] },
    placements: use.jobs > 0 && own[7] > 0 ? [{ id, job: 311, job_name: "sweep-lr-3e-4", memory_mib: own[6], compute_milli: own[7], memory_limit: own[7] >= 1000 ? "hardware" : "watched" }] : [],
  };
}

function cpus(booked: number, total: number): Cpu[] {
  return Array.from({ length: total }, (_, id) => ({
    id, core: id % (total / 2), socket: id % (total / 2) < total / 4 ? 0 : 1, numa: id % (total / 2) < total / 4 ? 0 : 1, max_mhz: 3500, online: id !== total - 1, reserved: id === 0 || id === total / 2,
    placement: id > 0 && id <= booked / 2 ? 1 : id > total / 4 && id <= total / 4 + booked / 4 ? 2 : null, job: null,
  }));
}

export function nodeAnswer(id: number): NodeDetail | null {
  const place = PLACES.find((entry) => entry.id === id);
  const row = ROWS[id - 1];
  if (!place || !row) return null;
  const devices = (row.at(-1) as MapDeviceRow[]).map((entry) => deviceAnswer(entry[0]) as Device);
  const whole = devices.filter((device) => device.parent === null);
  const pairs = whole.flatMap((a, i) => whole.slice(i + 1).map((b) => ({ a: a.id, b: b.id })));
  const kind = place.kin.vendor === "ascend" ? "HCCS" : place.kin.devices === 8 ? "NVSwitch" : "PIX";
  const [total, booked] = [row[4] ?? 0, row[5]];
  return {
    ...(NODES[0] as (typeof NODES)[number]), id, name: place.name, state: row[2], state_reason: row[2] === "cordoned" ? "disk swap" : "", node_set: place.kin.set, cpu_model: "AMD EPYC 9654", cpu_count: total, memory_mib: row[7],
    device_models: place.kin.model ? [place.kin.model] : [], drain_deadline: row[2] === "draining" ? new Date(now + 5_400_000).toISOString() : null, labels: { rack: row[10] ?? "none", owner: "infra" }, own_labels: { owner: "infra" }, remote: null,
    clock_offset_ms: id % 9 === 0 ? 71.4 : 1.2, clock_uncertainty_ms: 0.8, isolates_users: id % 5 !== 0, arch: "x86_64", os: "Ubuntu 22.04.4 LTS", kernel: "5.15.0-113-generic",
    cpus: cpus(booked, total),
    numa: [0, 1].map((numa) => ({ id: numa, cpus: cpus(0, total).filter((cpu) => cpu.numa === numa).map((cpu) => cpu.id), memory_mib: (row[7] ?? 0) / 2, distances: numa === 0 ? [10, 32] : [32, 10] })),
    mounts: [{ path: "/data", source: "nas-3:/export/data", fs_type: "nfs4", total_mib: 400 * GIB * GIB }], runtimes: [{ name: "containerd", version: "1.7.19" }], devices,
    links: pairs.map((pair) => ({ ...pair, kind, lanes: kind === "NVSwitch" ? 18 : null, bandwidth_mb_s: kind === "PIX" ? null : 450_000 })),
    images: [], stored_images: [{ name: "registry.invalid/train/pytorch:2.4", digest: "sha256:6a5c0de1", size_mib: 18_432 }, { name: "registry.invalid/infer/vllm:0.6", digest: null, size_mib: null }], datasets: ["imagenet", "wiki-zh-2026"],
    reading: { at: ago(4), cpu_used_milli: row[6], memory_used_mib: row[9], load1_milli: (row[6] ?? 0) * 1.1, power_mw: 2_140_000 }, booked: { cores: booked, memory_mib: row[8] },
    placements: [
      { id: 1, job: 311, job_name: "sweep-lr-3e-4", attempt: 1, phase: "running", cpus: Array.from({ length: Math.floor(booked / 2) }, (_, i) => i + 1), slices: whole.slice(0, 2).map((device) => ({ device: device.id, memory_mib: 40 * GIB, compute_milli: 500 })) },
      { id: 2, job: 77, job_name: null, attempt: 2, phase: "checkpointing", cpus: Array.from({ length: Math.floor(booked / 4) }, (_, i) => total / 4 + i + 1), slices: [] },
    ],
    warnings: id % 4 === 0 ? ["The container runtime does not answer."] : [],
  };
}

const wave = (i: number, points: number, phase: number): number => 0.5 + 0.5 * Math.sin((i / points) * 12 + phase) * Math.cos((i / points) * 3.1 + phase);

function steps(metric: Readings["series"][number]["metric"], points: number, at: (i: number) => number, spread: number): Readings["series"][number] {
  const gap = (i: number): boolean => i > points * 0.34 && i < points * 0.41;
  const values = (change: (value: number) => number) => Array.from({ length: points }, (_, i) => (gap(i) ? null : Math.max(0, Math.round(change(at(i))))));
  return {
    metric, count: values(() => 6), mean: values((value) => value), min: values((value) => value - spread), max: values((value) => value + spread),
    p50: values((value) => value), p95: values((value) => value + spread * 0.7), p99: values((value) => value + spread * 0.9),
  };
}

/** Invented readings with one gap. */
export function readingsAnswer(kind: string, id: number, from: string | null): Readings {
  const start = from ? new Date(from).getTime() : now - 3_600_000;
  const points = 180;
  const step = Math.max(10, Math.round((Date.now() - start) / points / 1000));
  const device = kind === "devices" ? deviceAnswer(id) : null;
  const phase = chance(id, 14) * 6;
  const curve = (low: number, high: number) => (i: number) => low + (high - low) * wave(i, points, phase);
  const booked = device?.booked.memory_mib ?? 0;
  if (kind === "cluster") {
    const series = [steps("utilization_pct", points, curve(41, 58), 30), { ...steps("booked_milli", points, curve(770, 860), 0) }];
    return { from: new Date(start).toISOString(), to: new Date(start + points * step * 1000).toISOString(), step_s: step, grain: "minute", points, series };
  }
  const series = kind === "devices"
    ? [steps("utilization_pct", points, curve(12, 92), 8), steps("memory_used_mib", points, curve(booked * 0.3, booked * 0.9), 900), steps("temperature_c", points, curve(41, 76), 2), steps("power_mw", points, curve(120_000, 350_000), 22_000),
      { ...steps("booked_milli", points, () => 0, 0), mean: Array.from({ length: points }, (_, i) => (i < points * 0.2 ? 0 : (device?.booked.compute_milli ?? 0))) },
      { ...steps("booked_mib", points, () => 0, 0), mean: Array.from({ length: points }, (_, i) => (i < points * 0.2 ? 0 : booked)) }]
    : [steps("cpu_used_milli", points, curve(9000, 44_000), 3000), steps("memory_used_mib", points, curve(90_000, 310_000), 5000), steps("load1_milli", points, curve(8000, 51_000), 2000), steps("power_mw", points, curve(1_100_000, 2_400_000), 90_000)];
  return { from: new Date(start).toISOString(), to: new Date(start + points * step * 1000).toISOString(), step_s: step, grain: step < 60 ? "raw" : "minute", points, series };
}

export function eventsAnswer(cursor: string | null): { next: string | null; previous: null; results: DeviceEvent[] } {
  const event = (id: number, to: DeviceHealth, from: DeviceHealth, reason: string, seconds: number): DeviceEvent =>
    ({ id, at: ago(seconds), from_health: from, to_health: to, reason, evidence: reason === "" ? "" : EVIDENCE, actor: to === "healthy" && from === "recovered" ? "zhao.qi" : "" });
  if (cursor) return { next: null, previous: null, results: [event(1, "healthy", "unknown", "", 990_000)] };
  return {
    next: "/api/v1/devices/1/events?cursor=older", previous: null,
    results: [event(5, "quarantined", "suspect", "xid-79", 7400), event(4, "suspect", "healthy", "ecc-uncorrectable", 7420), event(3, "healthy", "recovered", "", 86_000), event(2, "recovered", "quarantined", "", 90_000)],
  };
}

export const FITS = { largest: { alone_mib: 80 * GIB, shared_mib: 40 * GIB, compute_milli: 500, cores: 24, host_memory_mib: 400 * GIB }, code: null, text: null, jobs: [{ id: 312, name: "eval-zh", queue: "training" }], jobs_total: 1 };
