// The shapes of the REST API that pages speak of. Unknown is null; memory in MiB; compute and cores in milli.

export type JobStatus =
  | "held" | "pending" | "starting" | "running" | "suspending" | "suspended" | "preempting"
  | "succeeded" | "failed" | "cancelled";
export type NodeState =
  | "enrolled" | "ready" | "cordoned" | "draining" | "maintenance" | "silent" | "lost" | "quarantined";
export type DeviceHealth = "unknown" | "healthy" | "suspect" | "quarantined" | "recovered" | "missing";

export interface Page<T> {
  next: string | null;
  previous: string | null;
  results: T[];
}

export interface Me {
  username: string;
  role: "admin" | "operator" | "member";
  language: string | null;
  teams: { slug: string; name: string; role: string }[];
  permissions: string[];
  cluster: { name: string; uid: string; paused: boolean; version: string };
}

export interface Token {
  id: number;
  name: string;
  scopes: string[];
  team: string | null;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
}
export interface NewToken { name: string; scopes: string[]; team?: string | null; expires_in_days: number }
export interface User {
  id: number;
  username: string;
  email: string;
  role: Me["role"];
  language: string | null;
  active: boolean;
  created_at: string;
  last_sign_in_at: string | null;
  teams: { slug: string; name: string; role: string }[];
}
export interface Team { id: number; slug: string; name: string; created_at: string; members: number }
export interface Member { username: string; role: string }

export interface WaitStats { count: number; mean: number | null; p50: number | null; p95: number | null; p99: number | null }

export interface Queue {
  id: number;
  name: string;
  priority: number;
  quota_percent: number | null;
  quota_enforced?: boolean;
  preemptable: boolean;
  borrow: boolean;
  closed: boolean;
  pending: number;
  starting: number;
  running: number;
  booked_device_milli: number;
  booked_core_milli: number;
  measured_device_milli?: number | null;
  capacity_device_milli: number;
  capacity_core_milli: number;
  cap_device_milli: number | null;
  cap_core_milli: number | null;
  wait_s: WaitStats;
}

export interface NodeSummary {
  id: number;
  name: string;
  state: NodeState;
  state_reason: string;
  node_set: string | null;
  cpu_model: string | null;
  cpu_count: number | null;
  memory_mib: number | null;
  devices: number;
  device_models: string[];
  last_report_at: string | null;
  clock_offset_ms: number | null;
  observe_only: boolean;
  isolates_users: boolean | null;
  simulated: boolean;
  agent_version: string | null;
  labels: Record<string, string>;
}
export interface Cpu {
  id: number;
  core: number | null;
  socket: number | null;
  numa: number | null;
  max_mhz: number | null;
  online: boolean;
  reserved: boolean;
  placement: number | null;
  job: number | null;
}
export interface NumaNode { id: number; cpus: number[]; memory_mib: number | null; distances: number[] }
export interface DeviceLink { a: number; b: number; kind: string; lanes: number | null; bandwidth_mb_s: number | null }
export interface NodeReading {
  at: string;
  cpu_used_milli: number | null;
  memory_used_mib: number | null;
  load1_milli: number | null;
  power_mw: number | null;
}
export interface NodePlacement {
  id: number;
  job: number;
  job_name: string;
  attempt: number;
  phase: string;
  cpus: number[];
  slices: { device: number; memory_mib: number; compute_milli: number }[];
}
export interface NodeDetail extends Omit<NodeSummary, "devices"> {
  arch: string | null;
  os: string | null;
  kernel: string | null;
  cpus: Cpu[];
  numa: NumaNode[];
  mounts: unknown[];
  runtimes: unknown[];
  devices: Device[];
  links: DeviceLink[];
  images: unknown[];
  datasets: unknown[];
  reading: NodeReading | null;
  booked: { cores: number; memory_mib: number };
  placements: NodePlacement[];
  warnings: unknown[];
}
export interface DeviceReading {
  at: string;
  memory_used_mib: number | null;
  utilization_pct: number | null;
  temperature_c: number | null;
  power_mw: number | null;
}
export interface Device {
  id: number;
  node: number;
  node_name: string;
  index: number;
  identity: string;
  uuid: string | null;
  pci_bus_id: string | null;
  vendor: string;
  model: string;
  memory_total_mib: number | null;
  memory_reserved_mib: number | null;
  compute_units: number | null;
  driver_version: string | null;
  numa_node: number | null;
  cpu_affinity: string | number[] | null;
  power_limit_w: number | null;
  health: DeviceHealth;
  health_since: string | null;
  health_reason: string;
  health_evidence: unknown;
  cordoned: boolean;
  foreign_mib: number | null;
  catalogue: { name: string; tdp_w: number | null; tflops: Record<string, number | null>; interconnect: string | null } | null;
  booked: { memory_mib: number; compute_milli: number };
  reading: DeviceReading | null;
  placements: { id: number; job: number; job_name: string; memory_mib: number; compute_milli: number }[];
}
export interface DeviceFits {
  largest: { alone_mib: number | null; shared_mib: number | null };
  jobs: { id: number; name: string; queue: string }[];
}
export interface EnrolmentToken { token: string; command: string; expires_at: string }

export type MapDeviceRow = [
  id: number, index: number, model: number, health: DeviceHealth, cordoned: boolean, memory_total_mib: number | null,
  booked_mib: number, booked_milli: number, used_mib: number | null, util_pct: number | null, temp_c: number | null,
  power_mw: number | null, jobs_count: number,
];
export type MapNodeRow = [
  id: number, name: string, state: NodeState, node_set: string | null, cpu_count: number | null, booked_cores: number,
  cpu_used_milli: number | null, memory_mib: number | null, booked_memory_mib: number, memory_used_mib: number | null,
  devices: MapDeviceRow[],
];
export interface ClusterMap {
  at: string;
  groups: { node_set: string | null; model: string | null; nodes: number[] }[];
  nodes: MapNodeRow[];
  models: string[];
  columns: { nodes: string[]; devices: string[] };
}

export interface Share { booked_percent: number | null; measured_percent: WaitlessStats | number | null }
export interface WaitlessStats { mean: number | null; p50: number | null; p95: number | null; p99: number | null }
export interface Overview {
  at: string;
  nodes: Record<string, number> & { total: number };
  devices: Record<string, number> & { total: number; schedulable: number };
  accelerators: { booked_percent: number | null; measured_percent: WaitlessStats | null };
  cpu: { booked_percent: number | null; measured_percent: number | null; cores: number; booked_cores: number };
  memory: { booked_percent: number | null; measured_percent: number | null; total_mib?: number; booked_mib?: number; used_mib?: number | null };
  power_w: number | null;
  jobs: { pending: number; starting: number; running: number; held: number; finished_24h: number; failed_24h: number };
  queues: { name: string; pending: number; running: number; wait_s: WaitStats }[];
  waiting: { code: string; count: number }[];
  alerts: { open: number; critical: number };
  cycle: { at: string; wall_ms: number; considered: number; placed: number } | null;
}

export interface Alert {
  id: number;
  code: string;
  severity: "warning" | "critical";
  subject_type: string;
  subject_id: string;
  details: Record<string, unknown>;
  raised_at: string;
  cleared_at: string | null;
}
export interface Cycle {
  id: number;
  at: string;
  wall_ms: number;
  cpu_ms: number;
  considered: number;
  placed: number;
  refused: number;
  stale: number;
}
export interface PolicySummary { number: number; author: string; reason: string; created_at: string; active: boolean }
export interface Policy extends PolicySummary { document: string }

export interface Reason { code: string; params: Record<string, unknown>; text: string }
export interface JobDevice { id: number; index: number; model: string; memory_mib: number; compute_milli: number }
export interface Job {
  id: number;
  name: string;
  status: JobStatus;
  intent: "run" | "suspend" | "cancel";
  queue: string;
  team: string | null;
  owner: string;
  priority: number;
  attempt: number;
  submitted_at: string;
  started_at: string | null;
  finished_at: string | null;
  waits_ms: { held: number | null; pending: number | null; image_pull: number | null; start: number | null };
  exit_code: number | null;
  exit_signal: number | null;
  exit_class: string | null;
  exit_message: string | null;
  spec: JobSpec;
  node: { id: number; name: string } | null;
  cpus: number[] | null;
  devices: JobDevice[];
  uid: number | null;
  reason: Reason | null;
}
export interface JobResources {
  devices?: number;
  device_models?: string[];
  device_memory?: number | string | null;
  device_compute_milli?: number | null;
  cores?: number;
  memory?: number | string | null;
  read_bandwidth_mib_s?: number | null;
  splittable?: boolean | null;
  shareable?: boolean | null;
  [filterKey: string]: unknown;
}
export interface JobSpec {
  name?: string;
  team?: string | null;
  queue: string;
  command: string[];
  env?: Record<string, string>;
  working_dir?: string | null;
  resources?: JobResources;
  cpu_class?: "auto" | "compute" | "data";
  node_labels?: Record<string, string>;
  node_sets?: string[];
  datasets?: string[];
  priority?: number;
  max_retries?: number;
  time_limit_s?: number | null;
  strict_single?: boolean;
}
export interface JobEvent {
  at: string;
  attempt: number;
  from_status: string | null;
  to_status: string | null;
  code: string;
  details: Record<string, unknown>;
  actor: string | null;
  text: string;
}
export interface Term { term: string; value_ppm: number; weight_ppm: number; contribution_ppm: number }
export interface Candidate { node: number; node_name: string; score_ppm: number | null; terms: Term[] }
export interface NearCandidate extends Candidate {
  code: string;
  needed: number | null;
  available: number | null;
  unit: string | null;
  pieces: number[];
}
export interface PictureDevice { index: number; total_mib: number | null; booked_mib: number; used_mib: number | null; free_mib: number }
export interface FragmentPicture { node_name: string; request_mib: number; safety_mib: number; devices: PictureDevice[] }
export interface Decision {
  score_ppm: number;
  terms: Term[];
  node: { id: number; name: string } | number | string;
  devices: JobDevice[] | number[];
  cpus: number[];
  loader_cpus: number[] | null;
  candidates: number;
  runners_up: Candidate[];
  isolates_users: boolean | null;
}
export interface FunnelStep { code: string; label?: string; removed: number; left: number }
export interface Change { field: string; from: unknown; to: unknown; text: string; node_name: string | null }
export interface Explain {
  status: string;
  decided_at: string | null;
  since: string | null;
  cycle: number | null;
  sentence: Reason | null;
  funnel: FunnelStep[];
  near: NearCandidate[];
  changes: Change[];
  decision: Decision | null;
  picture: FragmentPicture | null;
}
export interface DryRun {
  placement: { node: number; node_name: string; devices: JobDevice[]; cpus: number[]; terms: Term[]; score_ppm?: number } | null;
  refusal: Explain | null;
  spec: JobSpec;
}
export interface LogPiece {
  attempt: number;
  offset: number;
  next_offset: number;
  text: string;
  truncated: boolean;
  complete: boolean;
}
