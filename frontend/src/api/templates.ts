// Named forms of requests of the reader's teams.
import { queryOptions } from "@tanstack/react-query";
import { api, body } from "./client";
import type { components } from "./schema";
import type { JobRequest } from "./types";

/** `spec` is a request of which anything may be missing. */
export type JobTemplate = Omit<components["schemas"]["JobTemplate"], "spec"> & { spec: Partial<JobRequest> };

const MOST = 500;
export const templatesKey = ["job-templates"] as const;

export const templatesQuery = queryOptions({
  queryKey: templatesKey,
  queryFn: async ({ signal }) => (await body(api.GET("/api/v1/job-templates", { signal, params: { query: { limit: MOST } } }))).results as JobTemplate[],
});

export interface TemplateWish { team: string; name: string; description: string; spec: Partial<JobRequest> }

/** A new one, or other content for the one of that name. */
export async function saveTemplate({ team, name, description, spec }: TemplateWish, there: JobTemplate | undefined): Promise<JobTemplate> {
  const saved = there
    ? body(api.PATCH("/api/v1/job-templates/{template_id}", { params: { path: { template_id: there.id } }, body: { description, spec } }))
    : body(api.POST("/api/v1/job-templates", { body: { team, name, description, spec } }));
  return (await saved) as JobTemplate;
}

export async function dropTemplate(id: number): Promise<void> {
  await api.DELETE("/api/v1/job-templates/{template_id}", { params: { path: { template_id: id } } });
}
