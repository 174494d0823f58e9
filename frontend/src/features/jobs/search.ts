// The job table's filters as they stand in the address.
import type { JobFilters, JobStatus } from "@/api/types";

export const JOB_STATUSES: readonly JobStatus[] = [
  "held", "pending", "starting", "running", "suspending", "suspended", "preempting", "succeeded", "failed", "cancelled",
];

export interface JobSearch { status?: string; queue?: string; team?: string; owner?: string; search?: string; array?: string }

const TEXTS = ["queue", "team", "owner", "search", "array"] as const;

/** What the address says, without what makes no sense. Several statuses are joined by commas. */
export function readJobSearch(raw: Record<string, unknown>): JobSearch {
  const found: JobSearch = {};
  const statuses = String(raw.status ?? "").split(",").filter((name) => (JOB_STATUSES as readonly string[]).includes(name));
  if (statuses.length > 0) found.status = statuses.join(",");
  for (const name of TEXTS) {
    const value = raw[name];
    if (value != null && String(value).trim() !== "") found[name] = String(value);
  }
  return found;
}

export function selectedStatuses(search: JobSearch): JobStatus[] {
  return search.status ? (search.status.split(",") as JobStatus[]) : [];
}

export function toggleStatus(search: JobSearch, status: JobStatus): JobSearch {
  const chosen = new Set(selectedStatuses(search));
  if (!chosen.delete(status)) chosen.add(status);
  const kept = JOB_STATUSES.filter((name) => chosen.has(name));
  const { status: _old, ...rest } = search;
  return kept.length > 0 ? { ...rest, status: kept.join(",") } : rest;
}

/** Tasks of arrays are listed where one array is asked for; elsewhere each array is one row of its own. */
export function jobFilters(search: JobSearch): JobFilters {
  const { status: _status, ...texts } = search;
  const statuses = selectedStatuses(search);
  return { array: "none", ...texts, ...(statuses.length > 0 ? { status: statuses } : {}), limit: 50 };
}
