// Nodes and devices beyond what is standing: readings over time, how health changed, and what operators set.
import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, body } from "./client";
import { keys } from "./keys";
import { nextCursor } from "./queries";
import type { components } from "./schema";

type Schemas = components["schemas"];
export type Readings = Schemas["Readings"];
export type ReadingSeries = Schemas["Series"];
export type DeviceEvent = Schemas["DeviceEvent"];

/** Whose readings; of the cluster, those of all its accelerators together. */
export type ReadingsOf = { readonly kind: "device" | "node"; readonly id: number } | { readonly kind: "cluster" };

/** Times shown, in milliseconds; `now` is the server's. */
export interface Window {
  readonly spanMs: number;
  readonly now: () => number;
}

const MOST_POINTS = 240;
const LEAST_PAUSE_MS = 10_000;

/** Not made old by hints: those come with every flush, and a chart changes once per step. */
export const readingsQuery = (of: ReadingsOf, { spanMs, now }: Window) =>
  queryOptions({
    queryKey: ["history", of, spanMs],
    queryFn: ({ signal }) => {
      const query = { from: new Date(now() - spanMs).toISOString(), points: MOST_POINTS };
      if (of.kind === "cluster") return body(api.GET("/api/v1/readings", { signal, params: { query } }));
      return of.kind === "device"
        ? body(api.GET("/api/v1/devices/{device_id}/readings", { signal, params: { path: { device_id: of.id }, query } }))
        : body(api.GET("/api/v1/nodes/{node_id}/readings", { signal, params: { path: { node_id: of.id }, query } }));
    },
    placeholderData: keepPreviousData,
    refetchInterval: Math.max(LEAST_PAUSE_MS, spanMs / MOST_POINTS),
  });

const EVENTS = 10;
const firstPage = undefined as string | undefined;

export const deviceEventsQuery = (id: number) =>
  infiniteQueryOptions({
    queryKey: keys.device(id, "events"),
    queryFn: ({ signal, pageParam }) =>
      body(api.GET("/api/v1/devices/{device_id}/events", { signal, params: { path: { device_id: id }, query: { limit: EVENTS, cursor: pageParam } } })),
    initialPageParam: firstPage,
    getNextPageParam: nextCursor,
  });

/** No new jobs; what still runs at the deadline is moved, without one all may finish. */
export function drainNode(id: number, { reason, deadline }: { reason: string; deadline: string | null }): Promise<unknown> {
  return body(api.POST("/api/v1/nodes/{node_id}/drain", { params: { path: { node_id: id } }, body: { reason, deadline } }));
}

/** The labels that operators gave a node, and the version that whoever edits them has to name. Never from the cache. */
export const labelsQuery = (id: number) =>
  queryOptions({
    queryKey: keys.node(id, "labels"),
    queryFn: async ({ signal }) => {
      const { data, response } = await api.GET("/api/v1/nodes/{node_id}/labels", { signal, params: { path: { node_id: id } } });
      return { labels: data?.labels ?? {}, version: response.headers.get("ETag") ?? "" };
    },
    gcTime: 0,
  });

interface NewLabels { reason: string; labels: Record<string, string>; version: string }

/** All labels that operators give a node, replacing those of `version`; refused when others have replaced them since. */
export function labelNode(id: number, { reason, labels, version }: NewLabels): Promise<unknown> {
  const params = { path: { node_id: id }, header: { "If-Match": version } };
  return body(api.PUT("/api/v1/nodes/{node_id}/labels", { params, body: { reason, labels } }));
}
