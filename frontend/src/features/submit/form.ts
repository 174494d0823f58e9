// The submit form as text, and the request it stands for. Nothing is guessed: what is empty is left to the queue's rules.
import type { ResourceRequest, JobRequest } from "@/api/types";
import { joinWords, splitWords } from "@/lib/shell";

export type Choice = "" | "yes" | "no";

export interface JobForm {
  name: string;
  queue: string;
  team: string;
  command: string;
  workingDir: string;
  env: string;
  devices: number | "";
  models: string[];
  deviceMemory: string;
  computePercent: number | "";
  splittable: Choice;
  shareable: Choice;
  cores: number | "";
  memory: string;
  replicas: number | "";
  cpuClass: "auto" | "compute" | "data";
  nodeSets: string[];
  nodeLabels: string[];
  datasets: string[];
  priority: number | "";
  retries: number | "";
  limitMinutes: number | "";
  strictSingle: boolean;
  deferrable: boolean;
}

export type FormFault = { field: keyof JobForm; code: string };
export type Reading = { spec: JobRequest; faults?: undefined } | { spec?: undefined; faults: FormFault[] };

export const EMPTY_FORM: JobForm = {
  name: "", queue: "", team: "", command: "", workingDir: "", env: "", devices: 0, models: [], deviceMemory: "", computePercent: "",
  splittable: "", shareable: "", cores: 1, memory: "", replicas: 1, cpuClass: "auto", nodeSets: [], nodeLabels: [], datasets: [], priority: 0, retries: 0,
  limitMinutes: "", strictSingle: false, deferrable: false,
};

/** The API's name of a field -> the field of the form that shows its fault. */
export const FIELD_OF: Record<string, keyof JobForm> = {
  name: "name", queue: "queue", team: "team", command: "command", working_dir: "workingDir", env: "env", cpu_class: "cpuClass",
  node_sets: "nodeSets", node_labels: "nodeLabels", datasets: "datasets", priority: "priority", max_retries: "retries", time_limit_s: "limitMinutes",
  "resources.devices": "devices", "resources.device_models": "models", "resources.device_memory": "deviceMemory",
  "resources.device_compute_milli": "computePercent", "resources.splittable": "splittable", "resources.shareable": "shareable",
  "resources.cores": "cores", "resources.memory": "memory", replicas: "replicas",
};

/** The form field for a path such as `resources.cores`, `command[0]` or `env.PATH`. */
export function formField(path: string): keyof JobForm | undefined {
  const plain = path.replace(/\[\d+\]/g, "");
  return FIELD_OF[plain] ?? FIELD_OF[plain.split(".")[0] as string];
}

const given = (value: number | ""): number | undefined => (value === "" ? undefined : value);
const chosen = (value: Choice): boolean | undefined => (value === "" ? undefined : value === "yes");

function without<T extends object>(entries: T): T {
  return Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined && value !== "" && !(Array.isArray(value) && value.length === 0))) as T;
}

/** A memory as the API reads it: a bare number means MiB, anything else is passed on as written. */
export function amount(text: string): number | string | undefined {
  const plain = text.trim();
  if (plain === "") return undefined;
  return /^\d+$/.test(plain) ? Number(plain) : plain;
}

function readEnv(text: string): Record<string, string> | null {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const pairs = lines.map((line) => line.split(/=(.*)/s) as [string, string | undefined]);
  if (pairs.some(([name, value]) => value === undefined || name.trim() === "")) return null;
  return Object.fromEntries(pairs.map(([name, value]) => [name.trim(), value ?? ""]));
}

/** The label that simulated nodes carry, and that a job names which is meant for them. */
export const SIMULATED = "simulated=true";

/** Labels as `name=value`; null where one is not written so. */
export function readLabels(labels: readonly string[]): Record<string, string> | null {
  const pairs = labels.map((label) => label.split(/=(.*)/s) as [string, string | undefined]);
  if (pairs.some(([name, value]) => value === undefined || name.trim() === "")) return null;
  return Object.fromEntries(pairs.map(([name, value]) => [name.trim(), (value ?? "").trim()]));
}

/** Whole numbers the fields may hold; what is left out has no lower end. */
export const LEAST: Partial<Record<keyof JobForm, number>> = { cores: 1, devices: 0, replicas: 1, retries: 0, limitMinutes: 1 };

function tooSmall(form: JobForm): FormFault[] {
  const isLess = ([field, least]: [string, number]) => { const value = form[field as keyof JobForm]; return typeof value === "number" && value < least; };
  return Object.entries(LEAST).filter(isLess).map(([field]) => ({ field: field as keyof JobForm, code: `least-${LEAST[field as keyof JobForm]}` }));
}

export function readForm(form: JobForm): Reading {
  const faults: FormFault[] = tooSmall(form);
  const labels = readLabels(form.nodeLabels);
  const split = splitWords(form.command);
  if ("error" in split) faults.push({ field: "command", code: split.error });
  else if (split.words.length === 0) faults.push({ field: "command", code: "empty" });
  const env = readEnv(form.env);
  if (env === null) faults.push({ field: "env", code: "not-name-value" });
  if (form.queue === "") faults.push({ field: "queue", code: "empty" });
  if (labels === null) faults.push({ field: "nodeLabels", code: "not-label" });
  if (faults.length > 0 || "error" in split || env === null || labels === null) return { faults };
  return { spec: specOf(form, split.words, { env, labels }) };
}

type Pairs = Record<string, string>;
const unlessEmpty = (pairs: Pairs): Pairs | undefined => (Object.keys(pairs).length > 0 ? pairs : undefined);

function specOf(form: JobForm, command: string[], { env, labels }: { env: Pairs; labels: Pairs }): JobRequest {
  const percent = given(form.computePercent);
  const minutes = given(form.limitMinutes);
  const resources: ResourceRequest = without({
    devices: given(form.devices) || undefined,
    device_models: form.models,
    device_memory: amount(form.deviceMemory),
    device_compute_milli: percent === undefined ? undefined : Math.round(percent * 10),
    splittable: chosen(form.splittable),
    shareable: chosen(form.shareable),
    cores: given(form.cores),
    memory: amount(form.memory),
  });
  return without({
    name: form.name.trim(),
    queue: form.queue,
    team: form.team || undefined,
    command,
    env: unlessEmpty(env),
    working_dir: form.workingDir.trim(),
    resources,
    replicas: form.replicas === 1 ? undefined : given(form.replicas),
    cpu_class: form.cpuClass === "auto" ? undefined : form.cpuClass,
    node_sets: form.nodeSets,
    node_labels: unlessEmpty(labels),
    datasets: form.datasets,
    priority: given(form.priority) || undefined,
    max_retries: given(form.retries) || undefined,
    time_limit_s: minutes === undefined ? undefined : Math.round(minutes * 60),
    strict_single: form.strictSingle || undefined,
    deferrable: form.deferrable || undefined,
  }) as JobRequest;
}

const text = (value: unknown): string => (value == null ? "" : typeof value === "number" ? `${value} MiB` : String(value));
const choice = (value: boolean | null | undefined): Choice => (value == null ? "" : value ? "yes" : "no");

/** The form that stands for a request, for cloning a job. */
export function formOf(spec: JobRequest): JobForm {
  const resources = spec.resources ?? {};
  const compute = resources.device_compute_milli;
  return {
    ...EMPTY_FORM,
    name: spec.name ?? "",
    queue: spec.queue,
    team: spec.team ?? "",
    command: joinWords(spec.command),
    workingDir: spec.working_dir ?? "",
    env: Object.entries(spec.env ?? {}).map(([name, value]) => `${name}=${value}`).join("\n"),
    devices: resources.devices ?? 0,
    models: resources.device_models ?? [],
    deviceMemory: text(resources.device_memory),
    computePercent: compute == null ? "" : compute / 10,
    splittable: choice(resources.splittable),
    shareable: choice(resources.shareable),
    cores: resources.cores ?? 1,
    memory: text(resources.memory),
    replicas: spec.replicas ?? 1,
    cpuClass: spec.cpu_class ?? "auto",
    nodeSets: spec.node_sets ?? [],
    nodeLabels: Object.entries(spec.node_labels ?? {}).map(([name, value]) => `${name}=${value}`),
    datasets: spec.datasets ?? [],
    priority: spec.priority ?? 0,
    retries: spec.max_retries ?? 0,
    limitMinutes: spec.time_limit_s == null ? "" : spec.time_limit_s / 60,
    strictSingle: spec.strict_single ?? false,
    deferrable: spec.deferrable ?? false,
  };
}

/** The same request on the command line; null where it uses what the command has no option for. */
export function asCommandLine(spec: JobRequest): string | null {
  const { resources = {} } = spec;
  // What is emptied over a template has no option.
  if (Object.values({ ...spec, ...resources }).includes(null)) return null;
  if (spec.working_dir || spec.cpu_class || spec.strict_single || spec.node_sets?.length || spec.datasets?.length) return null;
  const options: [string, unknown][] = [
    ["--template", spec.template], ["--queue", spec.queue], ["--name", spec.name], ["--team", spec.team], ["--devices", resources.devices],
    ["--device-memory", resources.device_memory], ["--device-compute-milli", resources.device_compute_milli], ["--cores", resources.cores],
    ["--memory", resources.memory], ["--replicas", spec.replicas], ["--priority", spec.priority], ["--max-retries", spec.max_retries], ["--time-limit", spec.time_limit_s],
    ...(resources.device_models ?? []).map((model): [string, unknown] => ["--device-model", model]),
    ...Object.entries(spec.env ?? {}).map(([name, value]): [string, unknown] => ["--env", `${name}=${value}`]),
    ...Object.entries(spec.node_labels ?? {}).map(([name, value]): [string, unknown] => ["--node-label", `${name}=${value}`]),
  ];
  const words = options.flatMap(([name, value]) => (value == null || value === "" ? [] : [name, String(value)]));
  const flag = (name: string, value: boolean | null | undefined) => (value == null ? [] : [`--${value ? "" : "no-"}${name}`]);
  const flags = [...flag("shareable", resources.shareable), ...flag("splittable", resources.splittable), ...(spec.deferrable ? ["--deferrable"] : [])];
  return joinWords(["headrace", "submit", ...words, ...flags, "--wait", "--", ...spec.command]);
}
