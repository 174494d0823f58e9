// What pages read: one option object per answer of the server.
import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, body } from "./client";
import { gatedQuery } from "./gate";
import { keys } from "./keys";
import type { AlertGroup, ClusterMap, JobFilters, NodeFilters, Page, WhatIfRequest } from "./types";


/** The cursor inside a `next` address; undefined on the last page. */
export function nextCursor(page: { next: string | null }): string | undefined {
  if (!page.next) return undefined;
  return new URL(page.next, window.location.origin).searchParams.get("cursor") ?? undefined;
}

const firstPage = undefined as string | undefined;

/** Every page shows some of it and nearly every hint makes it old, while the server looks at the whole cluster for it. */
const OVERVIEW_PAUSE = { leastMs: 1_000, times: 2, mostMs: 5_000 } as const;

export const overviewQuery = queryOptions({
  queryKey: keys.overview,
  queryFn: gatedQuery(() => body(api.GET("/api/v1/overview")), OVERVIEW_PAUSE),
});

export const queuesQuery = queryOptions({
  queryKey: keys.queues,
  queryFn: ({ signal }) => body(api.GET("/api/v1/queues", { signal })),
});

export const mapQuery = queryOptions({
  queryKey: keys.map,
  // The client's types turn the rows' tuples into plain arrays.
  queryFn: async ({ signal }) => (await body(api.GET("/api/v1/map", { signal }))) as unknown as ClusterMap,
});

export const jobsQuery = (filters: JobFilters) =>
  infiniteQueryOptions({
    queryKey: keys.jobs(filters),
    queryFn: ({ signal, pageParam }) =>
      body(api.GET("/api/v1/jobs", { signal, params: { query: { ...filters, cursor: pageParam } } })),
    initialPageParam: firstPage,
    getNextPageParam: nextCursor,
    placeholderData: keepPreviousData,
  });

export const jobQuery = (id: number) =>
  queryOptions({
    queryKey: keys.job(id),
    queryFn: ({ signal }) => body(api.GET("/api/v1/jobs/{job_id}", { signal, params: { path: { job_id: id } } })),
  });

export const jobPlacementsQuery = (id: number) =>
  queryOptions({
    queryKey: keys.job(id, "placements"),
    queryFn: ({ signal }) => body(api.GET("/api/v1/jobs/{job_id}/placements", { signal, params: { path: { job_id: id } } })),
  });

export const jobEventsQuery = (id: number) =>
  queryOptions({
    queryKey: keys.job(id, "events"),
    queryFn: ({ signal }) => body(api.GET("/api/v1/jobs/{job_id}/events", { signal, params: { path: { job_id: id } } })),
  });

export const explainQuery = (id: number) =>
  queryOptions({
    queryKey: keys.job(id, "explain"),
    queryFn: ({ signal }) => body(api.GET("/api/v1/jobs/{job_id}/explain", { signal, params: { path: { job_id: id } } })),
  });

export const nodesQuery = (filters: NodeFilters) =>
  infiniteQueryOptions({
    queryKey: keys.nodes(filters),
    queryFn: ({ signal, pageParam }) =>
      body(api.GET("/api/v1/nodes", { signal, params: { query: { ...filters, cursor: pageParam } } })),
    initialPageParam: firstPage,
    getNextPageParam: nextCursor,
    placeholderData: keepPreviousData,
  });

export const nodeQuery = (id: number) =>
  queryOptions({
    queryKey: keys.node(id),
    queryFn: ({ signal }) => body(api.GET("/api/v1/nodes/{node_id}", { signal, params: { path: { node_id: id } } })),
  });

export const deviceQuery = (id: number) =>
  queryOptions({
    queryKey: keys.device(id),
    queryFn: ({ signal }) => body(api.GET("/api/v1/devices/{device_id}", { signal, params: { path: { device_id: id } } })),
  });

export const deviceFitsQuery = (id: number) =>
  queryOptions({
    queryKey: keys.device(id, "fits"),
    queryFn: ({ signal }) => body(api.GET("/api/v1/devices/{device_id}/fits", { signal, params: { path: { device_id: id } } })),
  });

const LIST_LIMIT = 100;

export const alertGroupsQuery = queryOptions({
  queryKey: [...keys.alerts, "groups"],
  queryFn: ({ signal }) => body(api.GET("/api/v1/alert-groups", { signal })),
});

const GROUP_PAGE = 25;

export const groupAlertsQuery = ({ code, severity, silenced }: Pick<AlertGroup, "code" | "severity" | "silenced">) =>
  infiniteQueryOptions({
    queryKey: [...keys.alerts, "of", code, severity, silenced],
    queryFn: ({ signal, pageParam }) =>
      body(api.GET("/api/v1/alerts", { signal, params: { query: { limit: GROUP_PAGE, open: true, code, severity, silenced, cursor: pageParam } } })),
    initialPageParam: firstPage,
    getNextPageParam: nextCursor,
  });

/** What silences cover now: these know the names of their subjects. */
export const silencedAlertsQuery = queryOptions({
  queryKey: [...keys.alerts, "silenced"],
  queryFn: ({ signal }) => body(api.GET("/api/v1/alerts", { signal, params: { query: { limit: LIST_LIMIT, open: true, silenced: true } } })),
});

export const clearedAlertsQuery = queryOptions({
  queryKey: [...keys.alerts, "cleared"],
  queryFn: ({ signal }) => body(api.GET("/api/v1/alerts", { signal, params: { query: { limit: LIST_LIMIT, open: false } } })),
});

export const alertRulesQuery = queryOptions({
  queryKey: [...keys.alerts, "rules"],
  queryFn: ({ signal }) => body(api.GET("/api/v1/alert-rules", { signal })),
});

export const silencesQuery = queryOptions({
  queryKey: [...keys.alerts, "silences"],
  queryFn: ({ signal }) => body(api.GET("/api/v1/alert-silences", { signal, params: { query: { limit: LIST_LIMIT, active: true } } })),
});

export const cyclesQuery = queryOptions({
  queryKey: keys.cycles,
  queryFn: ({ signal }) => body(api.GET("/api/v1/cycles", { signal, params: { query: { limit: LIST_LIMIT } } })),
});

export const statusQuery = queryOptions({
  queryKey: keys.status,
  queryFn: ({ signal }) => body(api.GET("/api/v1/status", { signal })),
});

export const recordingsQuery = queryOptions({
  queryKey: keys.recordings,
  queryFn: ({ signal }) => body(api.GET("/api/v1/recordings", { signal, params: { query: { limit: LIST_LIMIT } } })),
});

/** Where a recording is downloaded from. */
export const recordingDocument = (id: number): string => `/api/v1/recordings/${id}/document`;

/** Asked for by hand only: it plans twice, and the answer belongs to the moment. */
export const whatIfQuery = (request: WhatIfRequest) =>
  queryOptions({
    queryKey: keys.whatIf(JSON.stringify(request)),
    queryFn: ({ signal }) => body(api.POST("/api/v1/what-if", { signal, body: request })),
    enabled: false,
    retry: false,
  });

export const policiesQuery = queryOptions({
  queryKey: keys.policies("versions"),
  queryFn: ({ signal }) => body(api.GET("/api/v1/policies", { signal, params: { query: { limit: LIST_LIMIT } } })),
});

export const activePolicyQuery = queryOptions({
  queryKey: keys.policies("active"),
  queryFn: ({ signal }) => body(api.GET("/api/v1/policies/active", { signal })),
});

export const tokensQuery = queryOptions({
  queryKey: keys.tokens,
  queryFn: ({ signal }) => body(api.GET("/api/v1/tokens", { signal, params: { query: { limit: LIST_LIMIT } } })),
});

export const usersQuery = queryOptions({
  queryKey: keys.users,
  queryFn: ({ signal }) => body(api.GET("/api/v1/users", { signal, params: { query: { limit: LIST_LIMIT } } })),
});

export const teamsQuery = queryOptions({
  queryKey: keys.teams,
  queryFn: ({ signal }) => body(api.GET("/api/v1/teams", { signal, params: { query: { limit: LIST_LIMIT } } })),
});

export const membersQuery = (slug: string) =>
  queryOptions({
    queryKey: keys.team(slug),
    queryFn: ({ signal }) => body(api.GET("/api/v1/teams/{slug}/members", { signal, params: { path: { slug }, query: { limit: LIST_LIMIT } } })),
  });

/** All rows of the pages read so far. */
export function rows<T>(data: { pages: Page<T>[] } | undefined): T[] {
  return data?.pages.flatMap((page) => page.results) ?? [];
}

const FOUND_LIMIT = 6;

/** Jobs and nodes whose names hold a text. */
export const searchQuery = (search: string) =>
  queryOptions({
    queryKey: ["search", search],
    queryFn: async ({ signal }) => {
      const params = { query: { search, limit: FOUND_LIMIT } };
      const [jobs, nodes] = await Promise.all([
        body(api.GET("/api/v1/jobs", { signal, params })),
        body(api.GET("/api/v1/nodes", { signal, params })),
      ]);
      return { jobs: jobs.results, nodes: nodes.results };
    },
    placeholderData: keepPreviousData,
  });
