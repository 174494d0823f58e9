// The arithmetic of a score sheet: the terms of the chosen node beside those of the runner-up, and which term decided.
import type { Term } from "@/api/types";

export interface SheetRow { term: string; weightPpm: number; chosen: Term; other: Term | null; leadPpm: number | null }

/** One row per term of the chosen node, in the policy's order. */
export function sheetRows(chosen: readonly Term[], other: readonly Term[] | null): SheetRow[] {
  return chosen.map((term) => {
    const twin = other?.find((one) => one.term === term.term) ?? null;
    return { term: term.term, weightPpm: term.weight_ppm, chosen: term, other: twin, leadPpm: twin ? term.contribution_ppm - twin.contribution_ppm : null };
  });
}

/** The term that put the chosen node furthest ahead; null where none did. */
export function decisiveTerm(rows: readonly SheetRow[]): string | null {
  const best = rows.reduce<SheetRow | null>((most, row) => (row.leadPpm !== null && row.leadPpm > (most?.leadPpm ?? 0) ? row : most), null);
  return best?.term ?? null;
}
