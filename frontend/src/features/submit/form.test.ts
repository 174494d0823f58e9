// The form and the request say the same, and only what was filled in is sent.
import { describe, expect, it } from "vitest";
import type { JobRequest } from "@/api/types";
import { asCommandLine, EMPTY_FORM, formField, formOf, readForm } from "./form";

const filled = { ...EMPTY_FORM, queue: "training", command: "python3 train.py" };

describe("reading the form", () => {
  it("sends only what was filled in", () => {
    expect(readForm(filled).spec).toEqual({ queue: "training", command: ["python3", "train.py"], resources: { cores: 1 } });
  });
  it("keeps units as written and reads bare numbers as MiB", () => {
    const { spec } = readForm({ ...filled, deviceMemory: "40 GiB", memory: "2048" });
    expect(spec?.resources).toMatchObject({ device_memory: "40 GiB", memory: 2048 });
  });
  it("tells every fault", () => {
    expect(readForm({ ...EMPTY_FORM, env: "NAME" }).faults?.map((fault) => fault.field).sort()).toEqual(["command", "env", "queue"]);
    expect(readForm({ ...filled, command: "echo 'x" }).faults).toEqual([{ field: "command", code: "unclosed-quote" }]);
  });
  it("keeps = inside values of the environment", () => expect(readForm({ ...filled, env: "A=b=c\n\nB=" }).spec?.env).toEqual({ A: "b=c", B: "" }));
  it("reads node labels, and tells one that is none", () => {
    expect(readForm({ ...filled, nodeLabels: ["simulated=true", " zone = a=b "] }).spec?.node_labels).toEqual({ simulated: "true", zone: "a=b" });
    expect(readForm({ ...filled, nodeLabels: ["simulated"] }).faults).toEqual([{ field: "nodeLabels", code: "not-label" }]);
  });
  it.each([["cores", 0, "least-1"], ["cores", -1, "least-1"], ["devices", -1, "least-0"], ["retries", -1, "least-0"], ["limitMinutes", 0, "least-1"], ["replicas", 0, "least-1"]] as const)("refuses %s of %d", (field, value, code) => {
    expect(readForm({ ...filled, [field]: value }).faults).toEqual([{ field, code }]);
  });
  it("turns per cent and minutes into the API's units", () => {
    const { spec } = readForm({ ...filled, computePercent: 12.5, limitMinutes: 90, splittable: "no" });
    expect(spec?.resources).toMatchObject({ device_compute_milli: 125, splittable: false });
    expect(spec?.time_limit_s).toBe(5400);
  });
});

describe("cloning", () => {
  const spec: JobRequest = {
    name: "a", queue: "offline", team: "nlp", command: ["sh", "-c", "echo 'x y'"], env: { A: "1" }, working_dir: "/srv", priority: 5, max_retries: 2,
    time_limit_s: 90, cpu_class: "data", node_sets: ["s"], node_labels: { simulated: "true" }, datasets: ["d"], strict_single: true, deferrable: true,
    replicas: 3,
    resources: { devices: 2, device_models: ["A100"], device_memory: "40960 MiB", device_compute_milli: 500, splittable: true, shareable: false, cores: 4, memory: "1024 MiB" },
  };
  it("reads back the request it was made from", () => expect(readForm(formOf(spec)).spec).toEqual(spec));
  it("writes memory of a normalised request with its unit", () => expect(formOf({ ...spec, resources: { memory: 1024 } }).memory).toBe("1024 MiB"));
});

it("names labels on the command line", () => {
  expect(asCommandLine({ queue: "training", command: ["true"], node_labels: { simulated: "true" } })).toContain("--node-label simulated=true");
});

it("names a template and what can wait on the command line, and has no line for what was emptied", () => {
  expect(asCommandLine({ queue: "training", command: ["true"], template: "nightly", deferrable: true })).toBe("headrace submit --template nightly --queue training --deferrable --wait -- true");
  expect(asCommandLine({ queue: "training", command: ["true"], template: "nightly", time_limit_s: null })).toBeNull();
});

it("finds the field of a fault", () => {
  expect(formField("resources.cores")).toBe("cores");
  expect(formField("command[0]")).toBe("command");
  expect(formField("env.PATH")).toBe("env");
  expect(formField("nonsense")).toBeUndefined();
});
