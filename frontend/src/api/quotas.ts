// What queues, teams and their members may hold, and what an edit of it would mean; the valley window; arrays of jobs.
import { queryOptions } from "@tanstack/react-query";
import { api, body } from "./client";
import { keys } from "./keys";
import type { components } from "./schema";

type Schemas = components["schemas"];
export type TeamQuota = Schemas["TeamQuota"];
export type Consequences = Schemas["Consequences"];
export type Valley = Schemas["Valley"];
export type JobArray = Schemas["JobArray"];

/** A call that changes something, as people would write it without the console. */
export interface Change { method: string; path: string; body?: unknown }

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

const asked = (dry: boolean) => ({ dry_run: dry ? ("1" as const) : ("0" as const) });

/** One amount that can be set: of a team, or of one of its members; a quota that is not there yet has no id. */
export interface Amount { quota: Pick<TeamQuota, "queue" | "team" | "model"> & Partial<TeamQuota>; username?: string }
export interface AmountWish extends Amount { milli: number }

export const amountCall = ({ quota, username, milli }: AmountWish): Change =>
  username
    ? { method: "PUT", path: `/api/v1/team-quotas/${quota.id}/shares/${username}`, body: { share_milli: milli } }
    : { method: "POST", path: "/api/v1/team-quotas", body: { queue: quota.queue, team: quota.team, model: quota.model, quota_milli: milli } };

async function sendAmount({ quota, username, milli }: AmountWish, dry: boolean): Promise<unknown> {
  const query = asked(dry);
  if (username) {
    const path = { quota_id: quota.id ?? 0, username };
    return body(api.PUT("/api/v1/team-quotas/{quota_id}/shares/{username}", { params: { path, query }, body: { share_milli: milli } }));
  }
  const wish = { queue: quota.queue, team: quota.team, model: quota.model, quota_milli: milli };
  return body(api.POST("/api/v1/team-quotas", { params: { query }, body: wish }));
}

export const foretellAmount = async (wish: AmountWish): Promise<Consequences> => (await sendAmount(wish, true)) as Consequences;
export const setAmount = (wish: AmountWish): Promise<unknown> => sendAmount(wish, false);

export async function dropAmount({ quota, username }: Amount): Promise<void> {
  const path = { quota_id: quota.id ?? 0 };
  if (username) await api.DELETE("/api/v1/team-quotas/{quota_id}/shares/{username}", { params: { path: { ...path, username } } });
  else await api.DELETE("/api/v1/team-quotas/{quota_id}", { params: { path } });
}

/** What becomes of a queue's caps; what is left out stays. */
export interface CapsWish { queue: string; caps: Omit<Schemas["PatchedQueueEditRequest"], "reason">; reason: string }

export const capsCall = ({ queue, caps, reason }: CapsWish): Change => ({ method: "PATCH", path: `/api/v1/queues/${queue}`, body: { ...caps, reason } });

export async function foretellCaps({ queue, caps }: CapsWish): Promise<Consequences> {
  const params = { path: { name: queue }, query: asked(true) };
  return (await body(api.PATCH("/api/v1/queues/{name}", { params, body: caps }))) as Consequences;
}

export function setCaps({ queue, caps, reason }: CapsWish): Promise<unknown> {
  return body(api.PATCH("/api/v1/queues/{name}", { params: { path: { name: queue } }, body: { ...caps, reason } }));
}

export function cancelArray(id: number): Promise<JobArray> {
  return body(api.POST("/api/v1/job-arrays/{array_id}/cancel", { params: { path: { array_id: id } } }));
}
