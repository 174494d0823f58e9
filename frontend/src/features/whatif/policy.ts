// Reads one weight out of the policy's document, to show it beside the new one.
import type { ScoreTerm } from "@/api/types";

/** As written in the document; null where the term stands at its default. */
export function weightIn(document: string, term: ScoreTerm): string | null {
  const found = new RegExp(`^\\s*["']?${term}["']?\\s*:\\s*([0-9.]+)`, "m").exec(document);
  return found?.[1] ?? null;
}
