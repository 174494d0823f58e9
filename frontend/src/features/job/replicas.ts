// The replicas of a job that has several: those of the attempt that is shown, by rank.
import type { Attempt } from "@/api/types";

/** The placements of one attempt, by rank. */
export const ofAttempt = (placements: readonly Attempt[], attempt: number): Attempt[] =>
  placements.filter((one) => one.attempt === attempt).sort((a, b) => a.replica - b.replica);

/** How many run now. */
export const runningCount = (placements: readonly Attempt[]): number => placements.filter((one) => one.phase === "running").length;

/** How an ended one ended, as the key and the values of its words; null while it lives or where nobody knows. */
export function endOf(one: Pick<Attempt, "exit_code" | "exit_signal">): { key: "replicaCode" | "replicaSignal"; values: Record<string, number> } | null {
  if (one.exit_code != null) return { key: "replicaCode", values: { code: one.exit_code } };
  if (one.exit_signal != null) return { key: "replicaSignal", values: { signal: one.exit_signal } };
  return null;
}
