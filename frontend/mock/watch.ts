// Invented figures of the control plane itself, its recordings, and what a what-if answers.
import type { JobChange, Outcome, Recording, Status, WhatIf, WhatIfRequest } from "../src/api/types.ts";

const now = Date.now();
const ago = (seconds: number) => new Date(now - seconds * 1000).toISOString();

export const STATUS: Status = {
  at: ago(0),
  cycle: {
    last: { at: ago(3), wall_ms: 212, considered: 288, placed: 37, waiting: 251 }, looks_1h: 1190, count_1h: 1042, wall_ms: { count: 1042, mean: 198.4, p50: 181, p95: 340, p99: 512 },
    decisions_per_s: 1304, cache_hit_percent: 94.2, cpu_percent: 8.1, skipped_1h: 0, longest_gap_s: 7.4,
  },
  workers: [{ name: "cycle", waiting: 0 }, { name: "upkeep", waiting: 2 }, { name: "remote", waiting: 0 }, { name: "replay", waiting: null }],
  agents: { online: 1202, silent: 4, versions: [{ version: "0.1.0", count: 1199 }, { version: "0.0.9", count: 7 }] },
  database: { ok: true, size_mib: 18_204, version: "15.6" }, valkey: { ok: true, version: "8.0.1" },
};

export const RECORDINGS: Recording[] = Array.from({ length: 8 }, (_, i) => ({ id: 420 - i, cycle: 184_220 - i * 3, at: ago(i * 65), nodes: 1206, jobs: 288 - i, placed: 37 - i, refused: 251, bytes: 1_240_331 - i * 900 }));

const outcome = (placed: number, refused: number, more: number): Outcome => ({
  considered: placed + refused, placed, refused, held: 0, exhausted: true, wall_ms: 190 + more, booked_percent: { devices: 83.3 + more / 10, cores: 61.2 },
  queues: [{ name: "inference", placed: 2, refused: 0, held: 0 }, { name: "training", placed: placed - 6, refused: 30, held: 0 }, { name: "offline", placed: 4, refused: refused - 30, held: 0 }],
  reasons: [{ code: "device-memory-piece", text: "Not enough memory in one piece", count: refused - 120 }, { code: "device-busy", text: "Devices are busy", count: 88 }, { code: "cores-free", text: "Too few free cores", count: 32 }],
});
const place = (node: number, node_name: string) => ({ node, node_name });
const busy = { code: "device-busy", text: "Needs 2 free devices in one node." };

export function whatIf(request: WhatIfRequest): WhatIf {
  const changes: JobChange[] = [
    { job: 148, name: "eval-nightly / 0148", queue: "offline", before: null, after: place(7, "tb-007"), reason_before: { code: "device-memory-piece", text: "80 GiB is free on tb-007, but in four pieces." }, reason_after: null, start: null, start_unknown: null, stops: [] },
    { job: 401, name: "embed-1", queue: "training", before: place(9, "tb-009"), after: place(31, "tb-031"), reason_before: null, reason_after: null, start: null, start_unknown: null, stops: [] },
    { job: 402, name: "finetune-2", queue: "training", before: place(9, "tb-009"), after: null, reason_before: null, reason_after: busy, start: { at: ago(-3600), is_earliest: true, basis: "history", node: 9, node_name: "tb-009", after_jobs: [{ job: 148, name: "eval-nightly / 0148" }] }, start_unknown: null, stops: [] },
    { job: null, name: "", queue: "training", before: null, after: place(12, "tb-012"), reason_before: null, reason_after: null, start: null, start_unknown: null, stops: [] },
  ];
  return { at: ago(2), recording: request.recording ?? null, notes: [], before: outcome(37, 251, 0), after: outcome(38, 250, 4), changes, changes_total: 4 };
}
