// A request over its template: what the form shows is sent as it stands there, what it has no field for stays the template's.
import type { JobTemplate } from "@/api/templates";
import type { JobRequest } from "@/api/types";
import { EMPTY_FORM, FIELD_OF, formOf, type JobForm } from "./form";

const IN_FORM = new Set([...Object.keys(FIELD_OF), "strict_single", "deferrable"]);

/** The form as a template fills it. */
export function startOf(template: JobTemplate, usualQueue: string): JobForm {
  const form = formOf({ queue: usualQueue, command: [], ...template.spec });
  return { ...EMPTY_FORM, ...form, team: template.team };
}

/** Names of what a template says that the form has no field for. */
export function beyondForm(template: JobTemplate): string[] {
  const resources = Object.keys(template.spec.resources ?? {}).filter((name) => !IN_FORM.has(`resources.${name}`));
  return [...Object.keys(template.spec).filter((name) => name !== "resources" && !IN_FORM.has(name)), ...resources].sort();
}

/** What was emptied in the form is said to be nothing, or the template would fill it in again. */
function emptied(mine: object, theirs: object, prefix: string): Record<string, null> {
  return Object.fromEntries(Object.keys(theirs).filter((name) => IN_FORM.has(prefix + name) && !(name in mine)).map((name) => [name, null]));
}

export function overTemplate(spec: JobRequest, template: JobTemplate): JobRequest {
  const resources = { ...spec.resources, ...emptied(spec.resources ?? {}, template.spec.resources ?? {}, "resources.") };
  return { ...spec, ...emptied(spec, template.spec, ""), resources, team: template.team, template: template.name } as JobRequest;
}

/** What of a request a template keeps: all but whose it is, with what the former content had beyond the form. */
export function templateSpec({ team: _team, template: _template, ...spec }: JobRequest, before: JobTemplate | undefined): Partial<JobRequest> {
  const kept = Object.fromEntries(Object.entries(before?.spec ?? {}).filter(([name]) => name !== "resources" && !IN_FORM.has(name)));
  return { ...kept, ...spec };
}
