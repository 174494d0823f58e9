// Where a chart's axes carry marks: round values, and round times of the viewer's zone.
import { niceStep } from "../StaffGauge";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const TIME_STEPS = [
  MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR,
  DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY, 91 * DAY, 182 * DAY, 364 * DAY,
] as const;

/** Round values from `low` to `high`, about `wanted` of them; the last may lie below `high`. */
export function valueTicks(low: number, high: number, wanted = 4): number[] {
  const step = niceStep(high - low, wanted);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => (first + i) * step);
}

/** The least round value at or above `value` (at least 1): the top of an axis. */
export function niceTop(value: number): number {
  if (!(value > 0)) return 1;
  const step = niceStep(value);
  return Math.ceil(value / step - 1e-9) * step;
}

export interface TimeTicks {
  readonly at: readonly number[];
  readonly stepMs: number;
}

/** Round instants between two, at most `most` of them, counted from the viewer's midnight. */
export function timeTicks(fromMs: number, toMs: number, most: number): TimeTicks {
  const stepMs = TIME_STEPS.find((step) => (toMs - fromMs) / step <= Math.max(1, most)) ?? 364 * DAY;
  const zone = (ms: number): number => -new Date(ms).getTimezoneOffset() * MINUTE;
  const at: number[] = [];
  for (let local = Math.ceil((fromMs + zone(fromMs)) / stepMs) * stepMs; ; local += stepMs) {
    // The offset of that day, which differs from the first one's where clocks were changed in between.
    const guess = local - zone(fromMs);
    const instant = local - zone(guess);
    if (instant > toMs) return { at, stepMs };
    if (instant >= fromMs) at.push(instant);
  }
}

export const isDaily = (stepMs: number): boolean => stepMs >= DAY;
