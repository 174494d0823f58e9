// Names under which pages know the shapes of the API. All come from the generated description, but for the map's rows,
// whose tuples it cannot express. Unknown is null; memory in MiB; compute and cores in milli.
import type { components, paths } from "./schema";

type Schemas = components["schemas"];

export type JobStatus = Schemas["JobStatusEnum"];
export type NodeState = Schemas["StateEnum"];
export type DeviceHealth = Schemas["Device"]["health"];

export interface Page<T> {
  next: string | null;
  previous: string | null;
  results: T[];
}

export type Me = Schemas["Me"];
export type Token = Schemas["Token"];
export type NewToken = Schemas["TokenMakeRequest"];
export type User = Schemas["User"];
export type Team = Schemas["Team"];
export type Member = Schemas["Member"];

export type WaitStats = Schemas["WaitStats"];
export type Queue = Schemas["Queue"];
export type Overview = Schemas["Overview"];
export type Alert = Schemas["Alert"];
export type AlertGroup = Schemas["AlertGroup"];
export type AlertRule = Schemas["AlertRule"];
export type Silence = Schemas["Silence"];
export type NewSilence = Schemas["SilenceMakeRequest"];
export type Cycle = Schemas["Cycle"];
export type PolicySummary = Schemas["PolicySummary"];
export type Policy = Schemas["Policy"];

export type NodeSummary = Schemas["NodeSummary"];
export type NodeDetail = Schemas["Node"];
export type Cpu = Schemas["Cpu"];
export type NumaNode = Schemas["Numa"];
export type DeviceLink = Schemas["Link"];
export type NodeReading = Schemas["NodeReading"];
export type NodePlacement = Schemas["NodePlacement"];
export type Device = Schemas["Device"];
export type DeviceReading = Schemas["DeviceReading"];
export type DeviceFits = Schemas["Fits"];
export type EnrolmentToken = Schemas["EnrolmentToken"];
export type RemoteHost = Schemas["RemoteHost"];
export type HostKey = Schemas["HostKey"];
export type SshKey = Schemas["SshKey"];

export type Reason = Schemas["Sentence"];
export type Job = Schemas["Job"];
export type JobDevice = Schemas["DevicePart"];
/** One placement of a job, or of one of its replicas. */
export type Attempt = Schemas["Attempt"];
export type JobEvent = Schemas["Event"];
export type Term = Schemas["Term"];
export type Candidate = Schemas["Candidate"];
export type NearCandidate = Schemas["Near"];
export type FragmentPicture = Schemas["Picture"];
export type Decision = Schemas["Decision"];
export type FunnelStep = Schemas["Funnel"];
export type Change = Schemas["Change"];
export type Explain = Schemas["Explain"];
export type DryRun = Schemas["DryRun"];
export type Estimate = Schemas["Estimate"];
export type Status = Schemas["Status"];
export type Recording = Schemas["Recording"];
export type Outcome = Schemas["Outcome"];
export type WhatIf = Schemas["WhatIf"];
export type JobChange = Schemas["JobChange"];
export type LogPiece = Schemas["Log"];
export type LogMatch = Schemas["LogMatch"];
export type LogMatches = Schemas["LogMatches"];

/** A request as people send it: what is left out is left to the queue, memory may carry a unit. */
export type JobRequest = Partial<Omit<Schemas["JobSpec"], "queue" | "command" | "resources">> &
  Pick<Schemas["JobSpec"], "queue" | "command"> & { resources?: ResourceRequest; template?: string | null };
export type ResourceRequest = Partial<Omit<Schemas["Resources"], "device_memory" | "memory">> & {
  device_memory?: number | string | null;
  memory?: number | string | null;
};

export type WhatIfRequest = NonNullable<paths["/api/v1/what-if"]["post"]["requestBody"]>["content"]["application/json"];
export type Edit = WhatIfRequest["edits"][number];
export type ScoreTerm = Extract<Edit, { kind: "change-weight" }>["term"];

type Query<Path extends keyof paths> = paths[Path] extends { get: { parameters: { query?: infer Q } } } ? NonNullable<Q> : never;
export type JobFilters = Query<"/api/v1/jobs">;
export type NodeFilters = Query<"/api/v1/nodes">;

export type MapDeviceRow = [
  id: number, index: number, model: number, health: DeviceHealth, cordoned: boolean, memory_total_mib: number | null,
  booked_mib: number, booked_milli: number, used_mib: number | null, util_pct: number | null, temp_c: number | null,
  power_mw: number | null, jobs_count: number, parent: number | null, queue_idx: number | null, team_idx: number | null,
];
export type MapNodeRow = [
  id: number, name: string, state: NodeState, node_set: string | null, cpu_count: number | null, booked_cores: number,
  cpu_used_milli: number | null, memory_mib: number | null, booked_memory_mib: number, memory_used_mib: number | null,
  rack: string | null, devices: MapDeviceRow[],
];
export type ClusterMap = Omit<Schemas["Map"], "nodes"> & { nodes: MapNodeRow[] };
