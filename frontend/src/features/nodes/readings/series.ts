// From the server's answer to what a chart draws: one metric in the unit that is shown, beside what was booked of it.
import type { Readings, ReadingSeries } from "@/api/inventory";
import type { Series, Steps } from "@/ui/chart/series";

export type Metric = ReadingSeries["metric"];

export interface Shown {
  readonly metric: Metric;
  /** Size of one shown unit in the metric's own. */
  readonly per: number;
  readonly booked?: { readonly metric: Metric; readonly per: number };
}

const PARTS = ["mean", "min", "max", "p50", "p95", "p99"] as const;
type Values = readonly (number | null)[];

const divided = (values: Values, per: number): Values => (per === 1 ? values : values.map((value) => (value === null ? null : value / per)));

function stepsOf(found: ReadingSeries, per: number): Steps {
  const scaled = Object.fromEntries(PARTS.map((part) => [part, divided(found[part], per)])) as Record<(typeof PARTS)[number], Values>;
  return { count: found.count, ...scaled };
}

/** Null where the answer does not tell of the metric. */
export function seriesOf(answer: Readings, { metric, per, booked }: Shown): Series | null {
  const named = (name: Metric): ReadingSeries | undefined => answer.series.find((entry) => entry.metric === name);
  const found = named(metric);
  if (!found) return null;
  const held = booked ? named(booked.metric) : undefined;
  return {
    fromMs: new Date(answer.from).getTime(), stepMs: answer.step_s * 1000, points: answer.points, steps: stepsOf(found, per),
    booked: held && booked ? divided(held.mean, booked.per) : null,
  };
}

const YOUNG_MS = 2 * 3_600_000;

/** Whether an answer about a long time has nothing older than two hours: a chart of all of it would be all but empty. */
export function isYoung({ from, step_s, series }: Readings, metric: Metric, nowMs: number): boolean {
  const count = series.find((entry) => entry.metric === metric)?.count ?? [];
  const first = count.findIndex((readings) => (readings ?? 0) > 0);
  return first < 0 || nowMs - (Date.parse(from) + first * step_s * 1000) < YOUNG_MS;
}
