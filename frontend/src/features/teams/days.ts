// The days of a team as stacked columns: which figure they show, and where each part stands.
import type { DayUse } from "@/api/teams";

export type Hours = "device_hours" | "core_hours";

/** Device hours, but core hours where no device was ever used. */
export function hoursOf(days: readonly DayUse[]): Hours {
  const used = (key: Hours) => days.some((day) => (day[key] ?? 0) > 0);
  return used("device_hours") || !used("core_hours") ? "device_hours" : "core_hours";
}

/** The queues that used anything, in the order of the server's. */
export function queuesOf(days: readonly DayUse[], hours: Hours): string[] {
  return [...new Set(days.flatMap((day) => day.queues.filter((one) => one[hours] > 0).map((one) => one.queue)))];
}

export interface Part { queue: string; from: number; to: number }

/** The parts of one day from the floor up; null when nothing is known of it. */
export function partsOf(day: DayUse, queues: readonly string[], hours: Hours): Part[] | null {
  if (day[hours] == null) return null;
  let from = 0;
  return queues.flatMap((queue) => {
    const value = day.queues.find((one) => one.queue === queue)?.[hours] ?? 0;
    if (value === 0) return [];
    const part = { queue, from, to: from + value };
    from = part.to;
    return [part];
  });
}
