// Names of cached answers, and which of them a hint of the server makes old.

export const keys = {
  me: ["me"] as const,
  overview: ["overview"] as const,
  queues: ["queues"] as const,
  pauses: ["pauses"] as const,
  images: ["images"] as const,
  jobs: (filters?: object) => (filters ? (["jobs", filters] as const) : (["jobs"] as const)),
  job: (id: number, part?: string) => (part ? (["job", id, part] as const) : (["job", id] as const)),
  // No hint makes it old: what was found stays found.
  logSearch: (wanted: object) => ["log-search", wanted] as const,
  nodes: (filters?: object) => (filters ? (["nodes", filters] as const) : (["nodes"] as const)),
  node: (id: number, part?: string) => (part ? (["node", id, part] as const) : (["node", id] as const)),
  device: (id: number, part?: string) => (part ? (["device", id, part] as const) : (["device", id] as const)),
  remoteHosts: ["remote-hosts"] as const,
  sshKeys: ["ssh-keys"] as const,
  map: ["map"] as const,
  alerts: ["alerts"] as const,
  cycles: ["cycles"] as const,
  status: ["status"] as const,
  recordings: ["recordings"] as const,
  whatIf: (request: string) => ["what-if", request] as const,
  policies: (part: string) => ["policies", part] as const,
  tokens: ["tokens"] as const,
  users: ["users"] as const,
  teams: ["teams"] as const,
  team: (slug: string) => ["teams", slug] as const,
};

export type Hint = readonly [topic: string, ...rest: unknown[]];

const STALE_BY_TOPIC: Record<string, readonly string[]> = {
  jobs: ["jobs", "overview", "queues"],
  // Why jobs wait: stored per shape, so that no single job is named.
  reasons: ["jobs", "job", "overview"],
  map: ["map", "overview", "nodes", "device"],
  readings: ["map", "device"],
  node: ["nodes", "device"],
  alerts: ["alerts", "overview"],
  queues: ["queues", "overview"],
  // Told when somebody pauses or resumes.
  me: ["me", "pauses"],
};

/** The prefixes of cached answers that a hint makes old. */
export function staleKeys(hint: Hint): readonly (readonly unknown[])[] {
  const [topic, id] = hint;
  // The server dropped hints that this page was too slow to take: everything may be old.
  if (topic === "resync") return [[]];
  const lists = (STALE_BY_TOPIC[topic] ?? []).map((name) => [name]);
  if (topic === "job" || topic === "node") return [typeof id === "number" ? [topic, id] : [topic], ...lists];
  return lists.length > 0 ? lists : [[topic]];
}
