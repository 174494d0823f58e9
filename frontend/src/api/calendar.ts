// What the coming days bring, and how much capacity should be free when.
import { queryOptions } from "@tanstack/react-query";
import { api, body } from "./client";
import { keys } from "./keys";
import type { components } from "./schema";

type Schemas = components["schemas"];
export type Calendar = Schemas["Calendar"];
export type Forecast = Schemas["Forecast"];
export type ForecastPoint = Schemas["ForecastPoint"];
export type Window = Schemas["Window"];

// Below the queues: hints about what starts and ends make both old.
export const calendarQuery = (days: number) =>
  queryOptions({
    queryKey: [...keys.queues, "calendar", days],
    queryFn: ({ signal }) => body(api.GET("/api/v1/calendar", { signal, params: { query: { days } } })),
  });

const PAUSE_MS = 60_000;

/** The server looks at the whole cluster for it: not with every hint. */
export const forecastQuery = (hours: number, models: readonly string[]) =>
  queryOptions({
    queryKey: ["forecast", hours, ...models],
    queryFn: ({ signal }) => body(api.GET("/api/v1/forecast", { signal, params: { query: { hours, model: [...models] } } })),
    refetchInterval: PAUSE_MS,
    staleTime: PAUSE_MS,
  });
