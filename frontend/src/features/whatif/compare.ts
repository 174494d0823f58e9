// Both outcomes side by side: one row per figure, per queue and per reason, with the change between them.
import type { JobChange, Outcome } from "@/api/types";

export interface Pair { name: string; before: number | null; after: number | null }

/** Jobs that do not start: refused, or held back by a pause. */
export const waitsIn = (outcome: Outcome): number => outcome.refused + outcome.held;

export const change = ({ before, after }: Pair): number | null => (before === null || after === null ? null : after - before);

/** Pairs by name, in the order in which the names first come. */
function paired(before: readonly [string, number][], after: readonly [string, number][]): Pair[] {
  const names = [...new Set([...before, ...after].map(([name]) => name))];
  const [was, is] = [new Map(before), new Map(after)];
  return names.map((name) => ({ name, before: was.get(name) ?? 0, after: is.get(name) ?? 0 }));
}

export function queuePairs(before: Outcome, after: Outcome): Pair[] {
  const placed = (outcome: Outcome) => outcome.queues.map((queue): [string, number] => [queue.name, queue.placed]);
  return paired(placed(before), placed(after));
}

/** Jobs by what they wait for; the words of a reason are those of the outcome that has it. */
export function reasonPairs(before: Outcome, after: Outcome): Pair[] {
  const counted = (outcome: Outcome) => outcome.reasons.map((reason): [string, number] => [reason.code, reason.count]);
  return paired(counted(before), counted(after)).sort((a, b) => Math.max(b.before ?? 0, b.after ?? 0) - Math.max(a.before ?? 0, a.after ?? 0));
}

export type Verdict = "starts" | "waits" | "moves" | "reason";

/** What becomes of one job: it starts now, does not or no longer start, goes elsewhere, or waits for something else. */
export function verdictOf(job: Pick<JobChange, "before" | "after" | "reason_before">): Verdict {
  if (!job.before && !job.after) return job.reason_before ? "reason" : "waits";
  if (!job.before) return "starts";
  return job.after ? "moves" : "waits";
}

export function countVerdicts(jobs: readonly JobChange[]): Record<Verdict, number> {
  const counts: Record<Verdict, number> = { starts: 0, waits: 0, moves: 0, reason: 0 };
  for (const job of jobs) counts[verdictOf(job)] += 1;
  return counts;
}
