// Doing something to jobs: one way for one and for many, each with its own outcome.
import { api, body } from "./client";
import type { components } from "./schema";

export type JobAct = components["schemas"]["BulkRequestRequest"]["action"];
export type Outcome = components["schemas"]["BulkOutcome"];

export interface Wish { action: JobAct; jobs: number[]; priority?: number; lose_work?: boolean }

/** At most 500 jobs at once. */
export async function actOnJobs(wish: Wish): Promise<Outcome[]> {
  return (await body(api.POST("/api/v1/jobs/bulk", { body: { dry_run: false, ...wish } }))).outcomes;
}
