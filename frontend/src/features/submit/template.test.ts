// A request over its template means what the form shows.
import { describe, expect, it } from "vitest";
import type { JobTemplate } from "@/api/templates";
import { readForm } from "./form";
import { beyondForm, overTemplate, startOf, templateSpec } from "./template";

const template: JobTemplate = {
  id: 1, team: "vision", name: "nightly", description: "", owner: "ada", changed_at: "2026-05-04T12:00:00Z",
  spec: { queue: "offline", image: "python:3", time_limit_s: 600, deferrable: true, resources: { cores: 4, devices: 2, device_models: ["A100"], read_bandwidth_mib_s: 5 } },
};

describe("templates", () => {
  it("fill the form and name what it does not show", () => {
    const form = startOf(template, "training");
    expect([form.queue, form.team, form.cores, form.limitMinutes, form.deferrable, form.command]).toEqual(["offline", "vision", 4, 10, true, ""]);
    expect(beyondForm(template)).toEqual(["image", "read_bandwidth_mib_s"]);
    expect(startOf({ ...template, spec: {} }, "training").queue).toBe("training");
  });
  it("leave out what was emptied, and leave alone what the form does not show", () => {
    const { spec } = readForm({ ...startOf(template, "training"), command: "true", limitMinutes: "", models: [] });
    const sent = overTemplate(spec as NonNullable<typeof spec>, template);
    expect(sent).toMatchObject({ template: "nightly", team: "vision", time_limit_s: null, resources: { device_models: null, devices: 2 } });
    expect("image" in sent).toBe(false);
    expect("read_bandwidth_mib_s" in (sent.resources ?? {})).toBe(false);
  });
  it("keep what the form does not show when they are saved again", () => {
    const saved = templateSpec({ queue: "training", command: ["true"], team: "vision", template: "nightly" }, template);
    expect(saved).toEqual({ image: "python:3", queue: "training", command: ["true"] });
  });
});
