// What the address says of the images' pages.
import type { PushStage } from "@/api/images";

export const STAGES: readonly PushStage[] = ["wanted", "running", "failed", "done", "pruning", "pruned"];
export const PERIODS = ["1", "7", "all"] as const;
export type Period = (typeof PERIODS)[number];

export interface ImageSearch { search?: string; days?: number; stage?: PushStage }

/** Without what makes no sense; no days are all that is kept. */
export function readImageSearch(raw: Record<string, unknown>): ImageSearch {
  const found: ImageSearch = {};
  const text = raw.search == null ? "" : String(raw.search).trim();
  if (text !== "") found.search = text;
  const days = Number(raw.days);
  if (PERIODS.some((period) => Number(period) === days)) found.days = days;
  const stage = STAGES.find((name) => name === raw.stage);
  if (stage) found.stage = stage;
  return found;
}

export function periodOf(search: ImageSearch): Period {
  return PERIODS.find((period) => Number(period) === search.days) ?? "all";
}

export function withPeriod({ days: _old, ...rest }: ImageSearch, period: Period): ImageSearch {
  return period === "all" ? rest : { ...rest, days: Number(period) };
}

/** Hits in per cent of starts; null where nothing started. */
export function hitRate({ starts, hits }: { starts: number; hits: number }): number | null {
  return starts === 0 ? null : (100 * hits) / starts;
}
