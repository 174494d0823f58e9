// Invented jobs: one that waits for a piece, one that runs, one that failed, and a table full of others.
import type { Decision, Explain, Job, JobEvent, JobStatus, Term } from "../src/api/types.ts";

const now = Date.now();
const ago = (seconds: number) => new Date(now - seconds * 1000).toISOString();
const GIB = 1024;

const WEIGHTS: [string, number][] = [
  ["resource-fit", 350_000], ["affinity", 250_000], ["topology", 200_000], ["balance", 120_000], ["fragmentation-penalty", 80_000],
];

function terms(values: readonly number[]): Term[] {
  return WEIGHTS.map(([term, weight], i) => {
    const value = Math.round((values[i] ?? 0) * 1e6);
    return { term, value_ppm: value, weight_ppm: weight, contribution_ppm: Math.round((value * weight) / 1e6) };
  });
}
const total = (list: Term[]) => list.reduce((sum, term) => sum + term.contribution_ppm, 0);

function candidate(node: number, name: string, values: readonly number[]) {
  const list = terms(values);
  return { node, node_name: name, score_ppm: total(list), terms: list };
}

function job(id: number, status: JobStatus, change: Partial<Job> = {}): Job {
  return {
    id, status, name: `job-${id}`, intent: "run", queue: "training", team: "nlp", owner: "zhao.qi", template: null, priority: 0, attempt: 1,
    submitted_at: ago(8040), started_at: null, finished_at: null, waits_ms: { held: 0, pending: 7_440_000, image_pull: 0, start: 0 },
    exit_code: null, exit_signal: null, exit_class: null, exit_message: null,
    spec: {
      name: "", team: "nlp", queue: "training", command: ["python3", "train.py"], env: {}, working_dir: null, cpu_class: "auto", node_labels: {}, node_sets: [],
      datasets: [], priority: 0, max_retries: 0, time_limit_s: null, strict_single: false, image: null, image_secret: null, shared_memory: null, mounts: [], network: null, checkpoint: null,
      after: [], array: null, retry_on: [], back_off_s: 0, on_hold: false, deferrable: false, latest_start: null, latest_finish: null, on_late: "end", replicas: 1,
      resources: { device_compute_milli: null, read_bandwidth_mib_s: null, devices: 1, device_models: ["A100"], device_memory: 40 * GIB, cores: 8, memory: 64 * GIB, shareable: true, splittable: false },
    },
    node: null, cpus: null, devices: [], uid: null, reason: null, array: null, ...change,
  };
}

const waiting = job(148, "pending", {
  name: "eval-nightly / 0148", queue: "offline", waits_ms: { held: 600_000, pending: 7_440_000, image_pull: 0, start: 0 },
  reason: { code: "memory-pieces", params: {}, text: "80 GiB is free on tb-007, but in four pieces of 20 GiB. This job needs 40 GiB on one device." },
});
const running = job(311, "running", {
  name: "tune-7b / 311", started_at: ago(3150), waits_ms: { held: 0, pending: 41_000, image_pull: 12_400, start: 640 },
  node: { id: 7, name: "tb-007" }, cpus: [0, 1, 2, 3, 8, 9, 10, 11], uid: 64012,
  devices: [0, 1].map((index) => ({ id: 70 + index, index, model: "A100 SXM 80 GiB", memory_mib: 60 * GIB, compute_milli: 750, memory_limit: "watched" as const })),
});
const failed = job(90, "failed", {
  name: "detr-l / 071", started_at: ago(5000), finished_at: ago(4000), exit_code: 3, exit_class: "exit-code", exit_message: "",
  node: { id: 7, name: "tb-007" }, cpus: [4, 5], uid: 64013,
});

const FILLER: JobStatus[] = ["running", "pending", "pending", "succeeded", "starting", "held", "cancelled", "succeeded", "running", "failed"];
const QUEUES = ["inference", "training", "offline"];
const filler = Array.from({ length: 34 }, (_, i) => {
  const status = FILLER[i % FILLER.length] as JobStatus;
  const live = status === "running" || status === "starting";
  const done = status === "succeeded" || status === "failed" || status === "cancelled";
  return job(400 + i, status, {
    name: `${["sweep", "embed", "finetune", "serve-api"][i % 4]}-${i}`, queue: QUEUES[i % 3] as string, owner: ["chen.bo", "gao.lin", "h.meier"][i % 3] as string,
    started_at: live || done ? ago(900 + i * 61) : null, finished_at: done ? ago(300 + i * 11) : null, exit_code: done ? (status === "failed" ? 1 : 0) : null,
    node: live || done ? { id: 7 + i, name: `ta-0${10 + i}` } : null,
    reason: status === "pending" ? { code: "no-free-device", params: {}, text: "No A100 is free: all 1,120 are booked." } : null,
  });
});

export const JOBS: Job[] = [...filler, running, waiting, failed];

const vessel = (index: number, booked: number, used: number) => ({
  index, total_mib: 80 * GIB, booked_mib: booked * GIB, used_mib: Math.round(used * GIB), free_mib: (80 - booked) * GIB,
});

export const WAITING: Explain = {
  status: "pending", decided_at: ago(3), since: ago(7800), cycle: 184220, sentence: waiting.reason, cap: null,
  line: { place: 3, waiting: 41, sentence: { code: "line-age", params: { place: 3, waiting: 41 }, text: "Place 3 of 41: the job before it was submitted earlier." } }, reservation: null,
  funnel: [
    { code: "all", label: "All nodes", removed: 0, left: 1206 },
    { code: "health", label: "Ready, healthy devices", removed: 19, left: 1187 },
    { code: "model", label: "Model is A100", removed: 1048, left: 139 },
    { code: "quota", label: "Queue and team quota", removed: 0, left: 139 },
    { code: "cores", label: "8 free cores near it", removed: 18, left: 121 },
    { code: "memory-total", label: "48 GiB free in total", removed: 83, left: 38 },
    { code: "memory-pieces", label: "48 GiB in one piece", removed: 38, left: 0 },
  ],
  near: [
    candidate(7, "tb-007", [0.92, 0.9, 0.7, 0.55, 0.8]), candidate(31, "tb-031", [0.92, 0.6, 0.85, 0.7, 0.55]),
    candidate(112, "tb-112", [0.85, 0.6, 0.85, 0.8, 0.4]), candidate(64, "tb-064", [0.9, 0.2, 0.85, 0.9, 0.65]),
    candidate(9, "tb-009", [0.8, 0.2, 0.7, 0.6, 0.1]),
  ].map((near) => ({ ...near, code: "memory-pieces", needed: 48 * GIB, available: 20 * GIB, unit: "MiB", pieces: [20, 20, 20, 20].map((n) => n * GIB) })),
  changes: [
    { field: "resources.splittable", from: false, to: true, text: "Starts in the next cycle on tb-007 as 3 × 13,654 MiB. The program must be able to use several devices.", node_name: "tb-007" },
    { field: "resources.device_models", from: ["A100"], to: ["A100", "H100"], text: "Starts now on ta-118; uses a scarcer device.", node_name: "ta-118" },
    { field: "resources.device_memory", from: 40960, to: 16384, text: "Starts now on tb-007.", node_name: "tb-007" },
  ],
  decision: null,
  estimate: { at: new Date(now + 5_240_000).toISOString(), is_earliest: false, basis: "history", node: 7, node_name: "tb-007", after_jobs: [{ job: 311, name: "finetune-7b" }, { job: 400, name: null }] },
  start_unknown: null,
  picture: {
    node_name: "tb-007", request_mib: 40 * GIB, safety_mib: 8 * GIB,
    devices: [vessel(0, 60, 34.8), vessel(1, 60, 37.2), vessel(2, 60, 24.6), vessel(3, 60, 33), ...[0.8, 0.76, 0.81, 0.7].map((use, i) => vessel(4 + i, 80, 80 * use))],
  },
};

const chosen = terms([0.92, 0.9, 0.7, 0.55, 0.8]);
const decision: Decision = {
  score_ppm: total(chosen), terms: chosen, node: { id: 7, name: "tb-007" }, devices: running.devices, cpus: running.cpus ?? [],
  loader_cpus: [], candidates: 139, runners_up: [candidate(31, "tb-031", [0.92, 0.6, 0.85, 0.7, 0.55])], tie: null, isolates_users: false, host_memory_limit: "control-group",
};

export const PLACED: Explain = { status: "running", decided_at: ago(3200), since: null, cycle: 183871, sentence: null, funnel: [], near: [], changes: [], decision, picture: null, estimate: null, start_unknown: null, cap: null, line: null, reservation: null };

export function events(id: number): JobEvent[] {
  const of = JOBS.find((one) => one.id === id) ?? waiting;
  const list: JobEvent[] = [{ at: of.submitted_at, attempt: 1, from_status: null, to_status: "pending", code: "submitted", details: {}, actor: of.owner, text: "Submitted" }];
  if (of.started_at) {
    list.push({ at: ago(3204), attempt: 1, from_status: "pending", to_status: "starting", code: "placed", details: {}, actor: null, text: "Placed on tb-007" });
    list.push({ at: of.started_at, attempt: 1, from_status: "starting", to_status: "running", code: "started", details: {}, actor: null, text: "Started" });
  }
  if (of.finished_at) list.push({ at: of.finished_at, attempt: 1, from_status: "running", to_status: of.status, code: "exited", details: {}, actor: null, text: "Ended with exit code 3" });
  return list;
}
