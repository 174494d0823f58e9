// The paths of the API as openapi-fetch reads them, written by hand until they are generated from docs/openapi.json.
import type * as t from "./types";

interface Ok<T> { content: { "application/json": T } }
interface Get<R, Q = Record<string, never>, P = Record<string, never>> {
  parameters: { query?: Q; path: P };
  responses: { 200: Ok<R> };
}
interface Read<R, Q = Record<string, never>> { parameters: { query?: Q }; responses: { 200: Ok<R> } }
interface Write<B, R, P = undefined, Q = Record<string, never>> {
  parameters: { query?: Q } & (P extends undefined ? { path?: undefined } : { path: P });
  requestBody: { content: { "application/json": B } };
  responses: { 200: Ok<R> };
}
interface Remove<P> { parameters: { path: P }; responses: { 204: { content?: never } } }
interface Id { id: number }
interface Paging { cursor?: string; limit?: number }
export interface JobFilters extends Paging {
  status?: string[]; queue?: string; team?: string; owner?: string; search?: string;
}
export interface NodeFilters extends Paging { state?: string; node_set?: string; search?: string }
interface Because { reason: string }

export interface paths {
  "/api/v1/me": { get: Read<t.Me>; patch: Write<{ language: string | null }, t.Me> };
  "/api/v1/tokens": { get: Read<t.Page<t.Token>, Paging>; post: Write<t.NewToken, t.Token & { token: string }> };
  "/api/v1/tokens/{id}": { delete: Remove<Id> };
  "/api/v1/users": { get: Read<t.Page<t.User>, Paging>; post: Write<{ username: string; role: string; email?: string }, t.User & { password: string | null }> };
  "/api/v1/users/{id}": { patch: Write<{ role?: string; active?: boolean }, t.User, Id> };
  "/api/v1/teams": { get: Read<t.Page<t.Team>, Paging>; post: Write<{ slug: string; name: string }, t.Team> };
  "/api/v1/teams/{slug}": { get: Get<t.Team, Record<string, never>, { slug: string }> };
  "/api/v1/teams/{slug}/members": { get: Get<t.Page<t.Member>, Paging, { slug: string }> };
  "/api/v1/teams/{slug}/members/{username}": {
    put: Write<{ role: string }, unknown, { slug: string; username: string }>;
    delete: Remove<{ slug: string; username: string }>;
  };
  "/api/v1/queues": { get: Read<t.Queue[]> };
  "/api/v1/nodes": { get: Read<t.Page<t.NodeSummary>, NodeFilters> };
  "/api/v1/nodes/{id}": { get: Get<t.NodeDetail, Record<string, never>, Id> };
  "/api/v1/nodes/{id}/cordon": { post: Write<Because, unknown, Id> };
  "/api/v1/nodes/{id}/uncordon": { post: Write<Because, unknown, Id> };
  "/api/v1/nodes/{id}/drain": { post: Write<Because, unknown, Id> };
  "/api/v1/nodes/{id}/maintenance": { post: Write<Because, unknown, Id> };
  "/api/v1/nodes/{id}/release": { post: Write<Because, unknown, Id> };
  "/api/v1/enrolment-tokens": { post: Write<{ node_set?: string; expires_in_hours: number }, t.EnrolmentToken> };
  "/api/v1/devices/{id}": { get: Get<t.Device, Record<string, never>, Id> };
  "/api/v1/devices/{id}/cordon": { post: Write<Because, unknown, Id> };
  "/api/v1/devices/{id}/uncordon": { post: Write<Because, unknown, Id> };
  "/api/v1/devices/{id}/release": { post: Write<Because, unknown, Id> };
  "/api/v1/devices/{id}/fits": { get: Get<t.DeviceFits, Record<string, never>, Id> };
  "/api/v1/map": { get: Read<t.ClusterMap> };
  "/api/v1/overview": { get: Read<t.Overview> };
  "/api/v1/alerts": { get: Read<t.Page<t.Alert>, Paging & { open?: boolean }> };
  "/api/v1/cycles": { get: Read<t.Page<t.Cycle>, Paging> };
  "/api/v1/policies": { get: Read<t.Page<t.PolicySummary>, Paging> };
  "/api/v1/policies/active": { get: Read<t.Policy> };
  "/api/v1/jobs": { get: Read<t.Page<t.Job>, JobFilters> };
  "/api/v1/jobs/submit": { post: Write<t.JobSpec, t.Job | t.DryRun, undefined, { dry_run?: 1 }> };
  "/api/v1/jobs/{id}": { get: Get<t.Job, Record<string, never>, Id> };
  "/api/v1/jobs/{id}/cancel": { post: Write<Record<string, never>, t.Job, Id> };
  "/api/v1/jobs/{id}/events": { get: Get<t.Page<t.JobEvent> | t.JobEvent[], Record<string, never>, Id> };
  "/api/v1/jobs/{id}/explain": { get: Get<t.Explain, Record<string, never>, Id> };
  "/api/v1/jobs/{id}/logs": { get: Get<t.LogPiece, { attempt?: number; offset?: number; limit?: number; wait_s?: number }, Id> };
}
