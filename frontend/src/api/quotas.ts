// What teams and their members may hold inside queues; the valley window; arrays of jobs.
import { queryOptions } from "@tanstack/react-query";
import { api, body } from "./client";
import { keys } from "./keys";
import type { components } from "./schema";

type Schemas = components["schemas"];
export type TeamQuota = Schemas["TeamQuota"];
export type Consequences = Schemas["Consequences"];
export type Valley = Schemas["Valley"];
export type JobArray = Schemas["JobArray"];

const MOST = 500;

export const teamQuotasQuery = queryOptions({
  queryKey: [...keys.queues, "teams"],
  queryFn: async ({ signal }) => (await body(api.GET("/api/v1/team-quotas", { signal, params: { query: { limit: MOST } } }))).results,
});

export const valleyQuery = queryOptions({
  queryKey: [...keys.queues, "valley"],
  queryFn: ({ signal }) => body(api.GET("/api/v1/valley", { signal, params: { query: { days: 7 } } })),
});

export const arraysQuery = queryOptions({
  queryKey: keys.jobs({ arrays: true }),
  queryFn: async ({ signal }) => (await body(api.GET("/api/v1/job-arrays", { signal, params: { query: { live: true } } }))).results,
});

/** One amount that can be set: of a team, or of one of its members. */
export interface Amount { quota: TeamQuota; username?: string }

export const callOf = ({ quota, username }: Amount, milli: number) =>
  username
    ? { method: "PUT", path: `/api/v1/team-quotas/${quota.id}/shares/${username}`, body: { share_milli: milli } }
    : { method: "POST", path: "/api/v1/team-quotas", body: { queue: quota.queue, team: quota.team, model: quota.model, quota_milli: milli } };

async function send({ quota, username }: Amount, milli: number, dry: boolean): Promise<unknown> {
  const query = { dry_run: dry ? ("1" as const) : ("0" as const) };
  if (username) {
    const path = { quota_id: quota.id, username };
    return body(api.PUT("/api/v1/team-quotas/{quota_id}/shares/{username}", { params: { path, query }, body: { share_milli: milli } }));
  }
  const wish = { queue: quota.queue, team: quota.team, model: quota.model, quota_milli: milli };
  return body(api.POST("/api/v1/team-quotas", { params: { query }, body: wish }));
}

export const foretell = async (amount: Amount, milli: number): Promise<Consequences> => (await send(amount, milli, true)) as Consequences;
export const setAmount = (amount: Amount, milli: number): Promise<unknown> => send(amount, milli, false);

export function cancelArray(id: number): Promise<JobArray> {
  return body(api.POST("/api/v1/job-arrays/{array_id}/cancel", { params: { path: { array_id: id } } }));
}
