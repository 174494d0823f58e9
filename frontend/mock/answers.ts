// One invented cluster: what each endpoint answers.
import type { JobRequest, WhatIfRequest } from "../src/api/types.ts";
import { ALERT_RULES, ALERTS, NODES, OVERVIEW, QUEUES, SILENCES } from "./cluster.ts";
import { groupsOf } from "../src/features/health/groups.ts";
import { deviceAnswer, eventsAnswer, FITS, mapAnswer, nodeAnswer, readingsAnswer } from "./inventory.ts";
import { ARRAYS, CALENDAR, FORECAST, MEMBER_USES, TEAM_QUOTAS, TEAM_USE, VALLEY } from "./shares.ts";
import { RECORDINGS, STATUS, whatIf } from "./watch.ts";
import { events, JOBS, PLACED, WAITING } from "./jobs.ts";

export interface Answer { status: number; body: unknown; waitMs?: number }

let signedIn = true;
const page = (results: unknown[]) => ({ next: null, previous: null, results });
const ok = (body: unknown): Answer => ({ status: 200, body });
const missing = (url: URL): Answer => ({ status: 404, body: { code: "not-found", detail: `Nothing at ${url.pathname}`, status: 404 } });

const ME = {
  username: "lin.yue", role: "admin", language: "en", teams: [{ slug: "nlp", name: "nlp", role: "lead" }],
  permissions: ["job-submit", "job-cancel", "node-operate", "device-operate", "alert-handle", "token-create", "queue-edit", "node-enrol", "user-read", "user-edit", "team-create", "team-member-edit", "policy-activate", "status-read", "recording-read", "what-if"],
  cluster: { name: "Yangtze cluster", uid: "c0ffee", paused: false, version: "0.1.0" },
};

const LOG_LINES = Array.from({ length: 60 }, (_, i) => `step ${i * 50}  loss ${(2.9 - i * 0.021).toFixed(4)}  12,431 tokens/s\n`);

function found(wanted: string, anyCase: boolean, final: boolean) {
  const fold = (text: string) => (anyCase ? text.toLowerCase() : text);
  const lines = LOG_LINES.map((line) => line.trimEnd());
  const matches = lines.flatMap((line, index) => {
    const at = fold(line).indexOf(fold(wanted));
    if (at < 0) return [];
    const end = at + wanted.length;
    const offset = LOG_LINES.slice(0, index).join("").length;
    return [{ line: index + 1, offset, before: line.slice(0, at), match: line.slice(at, end), after: line.slice(end), lines_before: lines.slice(index - 1, index), lines_after: lines.slice(index + 1, index + 2) }];
  });
  return { attempt: 1, offset: 0, next_offset: LOG_LINES.join("").length, next_line: lines.length + 1, matches, at_end: true, complete: final, truncated: false };
}

function log(url: URL, final: boolean): Answer {
  const offset = Number(url.searchParams.get("offset") ?? 0);
  const wanted = url.searchParams.get("search");
  if (wanted) return ok(found(wanted, url.searchParams.get("ignore_case") === "1", final));
  const whole = LOG_LINES.join("");
  const text = offset === 0 ? whole : final ? "" : `step ${offset}  loss 1.6100  12,431 tokens/s\n`;
  return { ...ok({ attempt: 1, offset, next_offset: offset + text.length, text, truncated: false, complete: final }), waitMs: offset ? 3000 : 0 };
}

function oneJob(id: number, part: string | undefined, url: URL): Answer {
  const job = JOBS.find((one) => one.id === id);
  if (!job) return missing(url);
  if (part === "events") return ok(events(id));
  if (part === "explain") return ok(job.status === "pending" || job.status === "held" ? WAITING : PLACED);
  if (part === "logs") return log(url, job.finished_at !== null);
  return ok(job);
}

function oneMachine([kind, id, part]: [string, number, string | undefined], method: string, url: URL): Answer {
  if (part === "readings") return ok(readingsAnswer(kind, id, url.searchParams.get("from")));
  if (part === "events") return ok(eventsAnswer(url.searchParams.get("cursor")));
  if (part === "fits") return ok(FITS);
  if (part === "labels" && method === "GET") return ok({ labels: nodeAnswer(id)?.own_labels ?? {} });
  if (part !== undefined && method === "GET") return missing(url);
  const found = kind === "nodes" ? nodeAnswer(id) : deviceAnswer(id);
  return found ? ok(found) : missing(url);
}

function jobs(url: URL): Answer {
  const statuses = url.searchParams.getAll("status");
  const [queue, search] = [url.searchParams.get("queue"), url.searchParams.get("search")];
  return ok(page(JOBS.filter((job) => (statuses.length === 0 || statuses.includes(job.status)) && (!queue || job.queue === queue) && (!search || job.name.includes(search)))));
}

function dryRun(spec: JobRequest): Answer {
  if (Number(spec.resources?.cores) > 500) {
    return { status: 400, body: { code: "invalid", status: 400, detail: "The request is not valid.", errors: [{ field: "resources.cores", code: "max", message: "must be at most 128" }] } };
  }
  if (spec.resources?.devices) return ok({ placement: null, refusal: WAITING, spec });
  return ok({ placement: { node: 7, node_name: "tb-007", nodes: [{ id: 7, name: "tb-007" }], devices: [], cpus: [0, 1], terms: PLACED.decision?.terms, score_ppm: PLACED.decision?.score_ppm }, refusal: null, spec });
}

const DOCUMENT = "scheduler:\n  name: hybrid-scheduler\n  weights:\n    resource-fit: 0.35\n    affinity: 0.25\n    topology: 0.20\n    balance: 0.12\n    fragmentation-penalty: 0.08\n";
const VERSIONS = [
  { number: 2, document: DOCUMENT, author: "lin.yue", reason: "raise affinity", created_at: OVERVIEW.at, active: true },
  { number: 1, document: DOCUMENT, author: "", reason: "first start", created_at: OVERVIEW.at, active: false },
];
const watched = (id: number, address: string, more: object) => ({
  id, address, port: 22, user: "watch", key: "fleet", fingerprint: "SHA256:mock", node: id, tried_at: OVERVIEW.at, answered_at: OVERVIEW.at, fetches_images: false, failures: 0, problem: "", problem_text: "", problem_detail: "", ...more,
});
const WATCHED = [
  watched(1, "10.20.0.11", {}),
  watched(2, "10.20.0.12", { failures: 7, problem: "host-key-changed", problem_text: "The node shows another host key than the one that was confirmed.", problem_detail: "SHA256:other" }),
  watched(3, "appliance.example.invalid", { node: null, tried_at: null, answered_at: null }),
];
const account = (id: number, username: string, role: string) => ({
  id, username, email: `${username}@example.invalid`, role, language: null, active: true, created_at: OVERVIEW.at, last_sign_in_at: null, teams: [{ slug: "nlp", name: "nlp", role: "member" }],
});

const FIXED: Record<string, unknown> = {
  pauses: [], "recordings/next": { wanted: false, reason: null, actor: null, since: null },
  status: STATUS, recordings: page(RECORDINGS),
  overview: OVERVIEW, queues: QUEUES, "team-quotas": page(TEAM_QUOTAS), valley: VALLEY, "job-arrays": page(ARRAYS), alerts: page(ALERTS), "alert-groups": groupsOf(ALERTS).map((group) => ({ ...group, alerts: undefined })), "alert-rules": ALERT_RULES, "alert-silences": page(SILENCES), nodes: page(NODES),
  cycles: page(Array.from({ length: 40 }, (_, i) => ({ id: 184220 - i, at: new Date(Date.now() - i * 5000).toISOString(), wall_ms: 180 + ((i * 37) % 90), cpu_ms: 150 + ((i * 31) % 80), considered: 288, placed: (i * 7) % 40, waiting: 288 - ((i * 7) % 40), refused: 23, stale: i % 9 ? 0 : 1 }))),
  policies: page(VERSIONS), "policies/active": VERSIONS[0],
  tokens: page([{ id: 1, name: "ci", scopes: ["read", "submit"], team: "nlp", created_at: OVERVIEW.at, expires_at: null, last_used_at: null }]),
  "remote-hosts": page(WATCHED), "ssh-keys": { results: [{ name: "fleet", public_key: "ssh-ed25519 AAAAmock" }] },
  users: page([account(1, "lin.yue", "admin"), account(2, "zhao.qi", "member")]),
  teams: page(["nlp", "vision"].map((slug, i) => ({ id: i, slug, name: slug, created_at: OVERVIEW.at, members: 2 - 2 * i }))),
  "teams/nlp": { id: 0, slug: "nlp", name: "nlp", created_at: OVERVIEW.at, members: 2 }, "teams/nlp/use": TEAM_USE, "teams/nlp/use/members": page(MEMBER_USES),
  calendar: CALENDAR, forecast: FORECAST, "job-templates": page([]),
  "teams/nlp/members": page([{ username: "lin.yue", role: "lead" }, { username: "zhao.qi", role: "member" }]),
  "teams/vision/members": page([]),
};

function session(method: string, body: unknown): Answer {
  if (method === "DELETE") signedIn = false;
  else if ((body as { password?: string }).password === "wrong") return { status: 400, body: { errors: [{ code: "username_password_mismatch", message: "" }] } };
  else signedIn = true;
  return { status: signedIn ? 200 : 401, body: {} };
}

export function answer(method: string, url: URL, body: unknown): Answer {
  if (url.pathname.startsWith("/_allauth/")) return session(method, body);
  if (url.searchParams.get("open") === "false") return ok(page([]));
  const path = url.pathname.replace(/^\/api\/v1\//, "");
  if (!signedIn) return { status: 401, body: { code: "not-authenticated", detail: "Sign in first.", status: 401 } };
  if (path === "me") return ok(ME);
  if (path === "jobs") return jobs(url);
  if (path === "jobs/submit") return url.searchParams.has("dry_run") ? dryRun(body as JobRequest) : { status: 201, body: JOBS.find((one) => one.id === 311) };
  if (path === "what-if") return { ...ok(whatIf(body as WhatIfRequest)), waitMs: 400 };
  if (path === "map") return ok(mapAnswer());
  if (path === "readings") return ok(readingsAnswer("cluster", 0, url.searchParams.get("from")));
  const machine = /^(nodes|devices)\/(\d+)(?:\/(\w+))?$/.exec(path);
  if (machine) return oneMachine([machine[1] ?? "", Number(machine[2]), machine[3]], method, url);
  const found = /^jobs\/(\d+)(?:\/(\w+))?$/.exec(path);
  if (found) return oneJob(Number(found[1]), found[2], url);
  if (path === "enrolment-tokens") return ok({ token: "hre_4f9a", command: "headrace-agent enrol --server https://cluster.invalid --token hre_4f9a", expires_at: OVERVIEW.at });
  if (path === "remote-hosts/scan") return ok({ host_key: "ssh-ed25519 AAAA", fingerprint: "SHA256:mock0123456789mock0123456789mock0123456789m" });
  if (path === "tokens" && method === "POST") return ok({ id: 9, name: "new", scopes: [], team: null, token: "hr_shown_once", created_at: OVERVIEW.at, expires_at: null, last_used_at: null });
  return path in FIXED ? ok(FIXED[path]) : missing(url);
}
