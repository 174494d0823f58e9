// What a team has of the cluster: now, day by day, and how long its jobs waited.
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, body } from "./client";
import { keys } from "./keys";
import { nextCursor } from "./queries";
import type { components } from "./schema";

type Schemas = components["schemas"];
export type TeamUse = Schemas["TeamUse"];
export type DayUse = Schemas["DayUse"];
export type MemberUse = Schemas["MemberUse"];

export const teamQuery = (slug: string) =>
  queryOptions({
    queryKey: [...keys.team(slug), "itself"],
    queryFn: ({ signal }) => body(api.GET("/api/v1/teams/{slug}", { signal, params: { path: { slug } } })),
  });

// Below the queues: what is held changes with every hint about them.
export const teamUseQuery = (slug: string, days: number) =>
  queryOptions({
    queryKey: [...keys.queues, "team", slug, days],
    queryFn: ({ signal }) => body(api.GET("/api/v1/teams/{slug}/use", { signal, params: { path: { slug }, query: { days } } })),
  });

export const membersUseQuery = (slug: string) =>
  infiniteQueryOptions({
    queryKey: [...keys.queues, "team", slug, "members"],
    queryFn: ({ signal, pageParam }) => body(api.GET("/api/v1/teams/{slug}/use/members", { signal, params: { path: { slug }, query: { cursor: pageParam } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: nextCursor,
  });
