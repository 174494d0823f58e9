// Invented quotas of teams, valley windows and arrays.
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
