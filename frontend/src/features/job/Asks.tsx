// What a job asks for, in one line.
import type { useTranslation } from "react-i18next";
import type { JobRequest } from "@/api/types";
import { exactMemory, memory } from "@/lib/format";
import { memoryMib } from "./facts";

type Translate = ReturnType<typeof useTranslation>["t"];

function size(value: unknown): string | null {
  const mib = memoryMib(value);
  if (mib != null) return mib % 1024 ? exactMemory(mib) : memory(mib);
  return typeof value === "string" && value !== "" ? value : null;
}

export function asksLine(spec: JobRequest, t: Translate): string {
  const { devices = 0, device_models = [], device_memory, device_compute_milli, cores = 1, memory: host, splittable, shareable } = spec.resources ?? {};
  const parts: string[] = [];
  if (devices > 0) {
    const piece = size(device_memory);
    const what = t("job.asksDevices", { count: devices });
    parts.push(piece ? t(splittable ? "job.asksSplit" : "job.asksPiece", { devices: what, size: piece }) : what);
    parts.push(device_models.length > 0 ? device_models.join(", ") : t("job.anyModel"));
    if (device_compute_milli != null) parts.push(t("job.asksCompute", { percent: device_compute_milli / 10 }));
    if (shareable != null) parts.push(t(shareable ? "job.shared" : "job.alone"));
  }
  parts.push(t("job.asksCores", { count: cores }));
  const hostSize = size(host);
  if (hostSize) parts.push(t("job.asksMemory", { size: hostSize }));
  const each = parts.join(t("job.comma"));
  return (spec.replicas ?? 1) > 1 ? t("job.asksReplicas", { count: spec.replicas, each }) : each;
}
