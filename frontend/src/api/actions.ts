// What people may do: every write of the console, one function each.
import { api, body } from "./client";
import type { Alert, AlertGroup, DryRun, EnrolmentToken, Job, JobRequest, Me, Member, NewSilence, NewToken, Silence, Team, Token, User } from "./types";

export type NodeAction = "cordon" | "uncordon" | "drain" | "maintenance" | "release";
export type DeviceAction = "cordon" | "uncordon" | "release";

export async function submitJob(spec: JobRequest, idempotencyKey: string): Promise<Job> {
  const headers = { "Idempotency-Key": idempotencyKey };
  return (await body(api.POST("/api/v1/jobs/submit", { body: spec, headers }))) as Job;
}

export async function dryRun(spec: JobRequest): Promise<DryRun> {
  return (await body(api.POST("/api/v1/jobs/submit", { body: spec, params: { query: { dry_run: 1 } } }))) as DryRun;
}

export function cancelJob(id: number): Promise<Job> {
  return body(api.POST("/api/v1/jobs/{job_id}/cancel", { params: { path: { job_id: id } } }));
}

export function nodeAction(id: number, action: NodeAction, reason: string): Promise<unknown> {
  return body(api.POST(`/api/v1/nodes/{node_id}/${action}`, { params: { path: { node_id: id } }, body: { reason } }));
}

export function deviceAction(id: number, action: DeviceAction, reason: string): Promise<unknown> {
  return body(api.POST(`/api/v1/devices/{device_id}/${action}`, { params: { path: { device_id: id } }, body: { reason } }));
}

export function acknowledgeAlert(id: number, note: string): Promise<Alert> {
  return body(api.POST("/api/v1/alerts/{alert_id}/acknowledge", { params: { path: { alert_id: id } }, body: { note } }));
}

export function unacknowledgeAlert(id: number): Promise<Alert> {
  return body(api.POST("/api/v1/alerts/{alert_id}/unacknowledge", { params: { path: { alert_id: id } } }));
}

/** All of a group, as far as the caller has seen it. */
export function acknowledgeGroup({ code, severity, silenced, newest }: AlertGroup): Promise<unknown> {
  return body(api.POST("/api/v1/alert-groups/acknowledge", { body: { code, severity, silenced, up_to: newest.id, note: "" } }));
}

export function silenceAlerts(wish: NewSilence): Promise<Silence> {
  return body(api.POST("/api/v1/alert-silences", { body: wish }));
}

export function endSilence(id: number): Promise<Silence> {
  return body(api.POST("/api/v1/alert-silences/{silence_id}/end", { params: { path: { silence_id: id } } }));
}

export function createEnrolmentToken(wish: { node_set?: string; expires_in_hours: number }): Promise<EnrolmentToken> {
  return body(api.POST("/api/v1/enrolment-tokens", { body: wish }));
}

export function createToken(wish: NewToken): Promise<Token & { token: string }> {
  return body(api.POST("/api/v1/tokens", { body: wish }));
}

export async function revokeToken(id: number): Promise<void> {
  await api.DELETE("/api/v1/tokens/{token_id}", { params: { path: { token_id: id } } });
}

export function createUser(wish: { username: string; role: Me["role"]; email?: string }): Promise<User & { password: string | null }> {
  return body(api.POST("/api/v1/users", { body: wish }));
}

export function changeUser(id: number, change: { role?: Me["role"]; active?: boolean }): Promise<User> {
  return body(api.PATCH("/api/v1/users/{user_id}", { params: { path: { user_id: id } }, body: change }));
}

export function createTeam(wish: { slug: string; name: string }): Promise<Team> {
  return body(api.POST("/api/v1/teams", { body: wish }));
}

export function setMember(slug: string, username: string, role: Member["role"]): Promise<unknown> {
  const path = { slug, username };
  return body(api.PUT("/api/v1/teams/{slug}/members/{username}", { params: { path }, body: { role } }));
}

export async function removeMember(slug: string, username: string): Promise<void> {
  await api.DELETE("/api/v1/teams/{slug}/members/{username}", { params: { path: { slug, username } } });
}

/** The server speaks the same two languages under its own names. */
export function setLanguage(language: string): Promise<unknown> {
  return body(api.PATCH("/api/v1/me", { body: { language: language.startsWith("zh") ? "zh-hans" : "en" } }));
}
