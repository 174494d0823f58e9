// The few fields of a supposed job, and the specification they stand for.
import type { Edit } from "@/api/types";
import { amount, readLabels } from "@/features/submit/form";

type Spec = Extract<Edit, { kind: "add-job" }>["spec"];

export interface JobDraft { count: string; queue: string; devices: string; models: string; deviceMemory: string; cores: string; memory: string; labels: string }

export const EMPTY_DRAFT: JobDraft = { count: "1", queue: "", devices: "0", models: "", deviceMemory: "", cores: "1", memory: "", labels: "" };

const words = (text: string): string[] => text.split(/[,，]/).map((word) => word.trim()).filter(Boolean);

/** Null while it cannot be a job: no queue, no core, or a label that is none. */
export function specOfDraft(draft: JobDraft): Spec | null {
  const labels = readLabels(words(draft.labels));
  const [devices, cores] = [Number(draft.devices), Number(draft.cores)];
  if (draft.queue === "" || labels === null || !(cores >= 1) || !(devices >= 0)) return null;
  const [deviceMemory, memory, models] = [amount(draft.deviceMemory), amount(draft.memory), words(draft.models)];
  return {
    queue: draft.queue,
    command: ["true"],
    ...(Object.keys(labels).length > 0 ? { node_labels: labels } : {}),
    resources: {
      cores: Math.round(cores),
      ...(devices > 0 ? { devices: Math.round(devices) } : {}),
      ...(models.length > 0 ? { device_models: models } : {}),
      ...(deviceMemory === undefined ? {} : { device_memory: deviceMemory }),
      ...(memory === undefined ? {} : { memory }),
    },
  };
}
