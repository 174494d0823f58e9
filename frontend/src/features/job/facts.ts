// What a job's numbers mean: its span in this state, its waits, what it asked for.
import type { Job, JobStatus } from "@/api/types";

export const FINAL: ReadonlySet<JobStatus> = new Set(["succeeded", "failed", "cancelled"]);
export const WAITING: ReadonlySet<JobStatus> = new Set(["held", "pending"]);

export const isFinal = (job: Pick<Job, "status">) => FINAL.has(job.status);
export const isWaiting = (job: Pick<Job, "status">) => WAITING.has(job.status);

/** How long the job has been waiting, running, or ran; null where the question has no answer yet. */
export function span(job: Job, now: number): number | null {
  const at = (time: string | null) => (time == null ? null : Date.parse(time));
  const [submitted, started, finished] = [at(job.submitted_at), at(job.started_at), at(job.finished_at)];
  if (isWaiting(job) || job.status === "starting") return submitted == null ? null : Math.max(0, now - submitted);
  if (started == null) return null;
  return Math.max(0, (finished ?? now) - started);
}

export type WaitPart = "held" | "pending" | "image_pull" | "start";
export const WAIT_PARTS: readonly WaitPart[] = ["held", "pending", "image_pull", "start"];

export interface Wait { part: WaitPart; ms: number | null }

/** The stored waits. While the job waits, the time since its last stored change belongs to what it does now, and later steps are still to come. */
export function waits(job: Job, now: number): Wait[] {
  const stored = WAIT_PARTS.map((part) => ({ part, ms: job.waits_ms[part] }));
  const current = job.status === "held" ? 0 : job.status === "pending" ? 1 : null;
  if (current === null) return stored;
  const known = stored.reduce((sum, wait) => sum + (wait.ms ?? 0), 0);
  const missing = Math.max(0, now - Date.parse(job.submitted_at) - known);
  return stored.map((wait, index) => {
    if (index === current) return { ...wait, ms: (wait.ms ?? 0) + missing };
    return index > current && !wait.ms ? { ...wait, ms: null } : wait;
  });
}

/** Memory as the normalised request holds it: MiB. Text stays as it was written. */
export function memoryMib(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}
