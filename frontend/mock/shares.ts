// Invented quotas of teams, valley windows and arrays.
import type { Calendar, Forecast } from "../src/api/calendar.ts";
import type { MemberUse, TeamUse } from "../src/api/teams.ts";
import type { JobArray, TeamQuota, Valley } from "../src/api/quotas.ts";
import { OVERVIEW } from "./cluster.ts";

export const TEAM_QUOTAS: TeamQuota[] = [
  { id: 1, queue: "training", team: "nlp", model: null, quota_milli: 12_000, shares: [{ username: "lin.yue", share_milli: 4500 }] },
  { id: 2, queue: "training", team: "vision", model: "NVIDIA A100-SXM4-80GB", quota_milli: 8000, shares: [] },
];

export const VALLEY: Valley = {
  from: "22:00", to: "08:00", time_zone: "Asia/Shanghai", early_below_percent: 60, early_after_s: 1800, open: false, because: null, early_at: null,
  windows: [{ opens_at: "2026-03-02T14:00:00Z", closes_at: "2026-03-03T00:00:00Z" }, { opens_at: "2026-03-03T14:00:00Z", closes_at: "2026-03-04T00:00:00Z" }],
};

export const ARRAYS: JobArray[] = [
  {
    id: 3, name: "sweep-lr", queue: "offline", team: "nlp", owner: "lin.yue", tasks: 400, at_once: 20, submitted_at: OVERVIEW.at, over: false,
    counts: { held: 310, pending: 4, starting: 1, running: 15, suspending: 0, suspended: 0, preempting: 0, succeeded: 68, failed: 2, cancelled: 0 },
  },
];

const HOUR_MS = 3_600_000;
const DAYS = 14;
const at = (hours: number) => new Date(Date.now() + hours * HOUR_MS).toISOString();

export const TEAM_USE: TeamUse = {
  team: "nlp", time_zone: "Asia/Shanghai", known_since: at(-24 * 10),
  now: [{ queue: "training", device_milli: 9500, core_milli: 0, running: 3, waiting: 4 }, { queue: "offline", device_milli: 0, core_milli: 16_000, running: 2, waiting: 0 }],
  days: Array.from({ length: DAYS }, (_, i) => {
    const day = at(-24 * (DAYS - 1 - i)).slice(0, 10);
    if (i < 3) return { day, device_hours: null, core_hours: null, queues: [] };
    const [training, offline] = [120 + ((i * 37) % 90), (i * 53) % 60];
    return { day, device_hours: training + offline, core_hours: 40, queues: [{ queue: "training", device_hours: training, core_hours: 0 }, { queue: "offline", device_hours: offline, core_hours: 40 }] };
  }),
  waits: [{ queue: "training", count: 61, mean: 320, p50: 90, p95: 1800, p99: 5400 }],
};
export const MEMBER_USES: MemberUse[] = [
  { username: "lin.yue", role: "lead", device_milli: 8000, core_milli: 0, running: 2, waiting: 3, shares: [{ quota: 1, queue: "training", model: null, share_milli: 4500 }] },
  { username: "zhao.qi", role: "member", device_milli: 1500, core_milli: 16_000, running: 3, waiting: 1, shares: [] },
];
export const CALENDAR: Calendar = {
  time_zone: "Asia/Shanghai", begins_at: at(0), ends_at: at(48),
  valleys: [{ opens_at: at(6), closes_at: at(16) }, { opens_at: at(30), closes_at: at(40) }],
  peaks: [{ opens_at: at(0), closes_at: at(4) }, { opens_at: at(16), closes_at: at(28) }, { opens_at: at(40), closes_at: at(48) }],
  power: [],
  promised: [{ job: 311, name: "llama-sft-7b", replica: 0, node: 7, node_name: "tb-007", starts_at: at(3) }], promised_total: 1,
  nodes: [{ node: 9, node_name: "tb-009", state: "draining", reason: "new disk", since: at(-1), deadline: at(5) }], nodes_total: 1,
};
export const FORECAST: Forecast = {
  models: [], by_time_limit: 41, by_history: 12, end_unknown: 9, promised: 1,
  points: Array.from({ length: 25 }, (_, i) => ({ at: at(i), free_device_milli: 300_000 + 40_000 * ((i * 7) % 11), free_devices: 280 + 40 * ((i * 7) % 11), free_core_milli: 900_000, unknown_device_milli: 90_000, unknown_core_milli: 0 })),
};
