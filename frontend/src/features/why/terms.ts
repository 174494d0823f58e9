// How score terms are stacked: in the policy's order, strong to pale, their lengths the contributions.
import type { Term } from "@/api/types";

export const TERM_FILLS = ["var(--load-7)", "var(--load-5)", "var(--load-3)", "var(--load-1)", "url(#dots)", "var(--booked)"] as const;
const DARK_FILLS = 2;

export interface Segment { term: string; fill: string; strong: boolean; fromPpm: number; toPpm: number }

export function segments(terms: readonly Term[]): Segment[] {
  let from = 0;
  return terms.map((term, index) => {
    const length = Math.max(0, term.contribution_ppm);
    const segment = { term: term.term, fill: TERM_FILLS[index % TERM_FILLS.length] as string, strong: index < DARK_FILLS, fromPpm: from, toPpm: from + length };
    from += length;
    return segment;
  });
}

/** The length of the longest bar that these weights allow. */
export function scaleMaxPpm(rows: readonly (readonly Term[])[]): number {
  const sums = rows.map((terms) => terms.reduce((sum, term) => sum + Math.max(0, term.weight_ppm), 0));
  return Math.max(1, ...sums);
}
