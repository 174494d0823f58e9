// What is paused, pausing and resuming; and the request to have the next cycle recorded.
import { queryOptions } from "@tanstack/react-query";
import { api, body } from "./client";
import { keys } from "./keys";
import type { components } from "./schema";

export type PausedPart = components["schemas"]["PausedPart"];

/** One queue, one node set, or (neither) everything. */
export interface Part { queue?: string; node_set?: string }

export const pausesQuery = queryOptions({
  queryKey: keys.pauses,
  queryFn: ({ signal }) => body(api.GET("/api/v1/pauses", { signal })),
});

export function pause(part: Part, reason: string): Promise<unknown> {
  return body(api.POST("/api/v1/pause", { body: { ...part, reason } }));
}

export function resume(part: Part, reason: string): Promise<unknown> {
  return body(api.POST("/api/v1/resume", { body: { ...part, reason } }));
}

export const recordingRequestQuery = queryOptions({
  queryKey: [...keys.recordings, "next"],
  queryFn: ({ signal }) => body(api.GET("/api/v1/recordings/next", { signal })),
});

export function requestRecording(reason: string): Promise<unknown> {
  return body(api.POST("/api/v1/recordings/next", { body: { reason } }));
}
