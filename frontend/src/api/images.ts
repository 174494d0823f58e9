// Images: where they are, what fetching them costs, and orders to have them on nodes or gone from there.
import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, body } from "./client";
import { keys } from "./keys";
import { nextCursor } from "./queries";
import type { components } from "./schema";

type Schemas = components["schemas"];
export type Image = Schemas["Image"];
export type ImagePlace = Schemas["ImagePlace"];
export type ImagePush = Schemas["ImagePush"];
export type ImagesSummary = Schemas["ImagesSummary"];
export type ImageOrder = Schemas["ImageOrderRequest"];
export type ImageOutcome = Schemas["ImageOutcome"];
export type PushStage = Schemas["StageEnum"];

/** How far back; all that is kept without it. */
interface Days { days?: number }

const firstPage = undefined as string | undefined;
/** Nothing hints at images: they change within minutes. */
const AGAIN_MS = 15_000;
const PAGE = 50;

export const imagesSummaryQuery = (query: Days) =>
  queryOptions({
    queryKey: [...keys.images, "summary", query],
    queryFn: ({ signal }) => body(api.GET("/api/v1/images/summary", { signal, params: { query } })),
    placeholderData: keepPreviousData,
    refetchInterval: AGAIN_MS,
  });

export const imagesQuery = (filters: Days & { search?: string }) =>
  infiniteQueryOptions({
    queryKey: [...keys.images, "list", filters],
    queryFn: ({ signal, pageParam }) => body(api.GET("/api/v1/images", { signal, params: { query: { ...filters, limit: PAGE, cursor: pageParam } } })),
    initialPageParam: firstPage,
    getNextPageParam: nextCursor,
    placeholderData: keepPreviousData,
    refetchInterval: AGAIN_MS,
  });

export const pushesQuery = (filters: { stage?: PushStage }) =>
  infiniteQueryOptions({
    queryKey: [...keys.images, "pushes", filters],
    queryFn: ({ signal, pageParam }) => body(api.GET("/api/v1/images/pushes", { signal, params: { query: { ...filters, limit: PAGE, cursor: pageParam } } })),
    initialPageParam: firstPage,
    getNextPageParam: nextCursor,
    placeholderData: keepPreviousData,
    refetchInterval: AGAIN_MS,
  });

export const imageQuery = (id: number, query: Days) =>
  queryOptions({
    queryKey: [...keys.images, id, query],
    queryFn: ({ signal }) => body(api.GET("/api/v1/images/{image_id}", { signal, params: { path: { image_id: id }, query } })),
    placeholderData: keepPreviousData,
  });

export const imageNodesQuery = (id: number, query: Days) =>
  infiniteQueryOptions({
    queryKey: [...keys.images, id, "nodes", query],
    queryFn: ({ signal, pageParam }) =>
      body(api.GET("/api/v1/images/{image_id}/nodes", { signal, params: { path: { image_id: id }, query: { ...query, limit: PAGE, cursor: pageParam } } })),
    initialPageParam: firstPage,
    getNextPageParam: nextCursor,
    placeholderData: keepPreviousData,
    refetchInterval: AGAIN_MS,
  });

const WAITS = 10;

export const imageWaitsQuery = (id: number) =>
  infiniteQueryOptions({
    queryKey: [...keys.images, id, "waits"],
    queryFn: ({ signal, pageParam }) =>
      body(api.GET("/api/v1/images/{image_id}/waits", { signal, params: { path: { image_id: id }, query: { limit: WAITS, cursor: pageParam } } })),
    initialPageParam: firstPage,
    getNextPageParam: nextCursor,
  });

/** One outcome per node. */
export async function orderImage(order: ImageOrder): Promise<ImageOutcome[]> {
  return (await body(api.POST("/api/v1/images/orders", { body: order }))).outcomes;
}
