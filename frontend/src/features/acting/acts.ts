// Which acts make sense for a job as it stands, and what one call would say.
import type { JobAct } from "@/api/acting";
import type { Job, JobStatus } from "@/api/types";
import { isFinal } from "@/features/job/facts";

/** In the order in which they are offered. Suspending and resuming have buttons of their own on the page of a job. */
export const BULK: readonly JobAct[] = ["hold", "release", "requeue", "suspend", "resume", "reprioritise", "cancel"];
const PLACED: ReadonlySet<JobStatus> = new Set(["starting", "running"]);

export function canDo(act: JobAct, job: Pick<Job, "status" | "reason">): boolean {
  switch (act) {
    case "hold": return job.status === "pending" || (job.status === "held" && job.reason?.code !== "held-person");
    case "release": return job.status === "held" && job.reason?.code === "held-person";
    case "requeue":
    case "suspend": return PLACED.has(job.status);
    case "resume": return job.status === "suspended" || job.status === "suspending";
    default: return !isFinal(job);
  }
}

/** A whole number within the bounds of the API, else null. */
export function readPriority(text: string): number | null {
  const value = /^\s*[+-]?\d{1,4}\s*$/.test(text) ? Number(text) : NaN;
  return Number.isInteger(value) && Math.abs(value) <= 1000 ? value : null;
}
