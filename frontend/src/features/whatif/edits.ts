// What is supposed to be different, as the address keeps it and as the API takes it.
import type { Edit, WhatIfRequest } from "@/api/types";

export const MOST_EDITS = 20;
export const KINDS = ["add-job", "drain-node", "change-weight", "change-quota", "add-nodes"] as const satisfies readonly Edit["kind"][];
export const TERMS = ["resource-fit", "affinity", "topology", "balance", "fragmentation-penalty", "power"] as const;

export interface WhatIfSearch { recording?: number; edits?: string; run?: number }

const isEdit = (value: unknown): value is Edit => typeof value === "object" && value !== null && KINDS.some((kind) => kind === (value as { kind?: unknown }).kind);

/** The edits that an address names; what cannot be read is left out. */
export function readEdits(text: string | undefined): Edit[] {
  if (!text) return [];
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value.filter(isEdit).slice(0, MOST_EDITS) : [];
  } catch {
    return [];
  }
}

/** The router reads numbers and JSON by itself; here all come back as text or number. */
export function readWhatIfSearch(search: Record<string, unknown>): WhatIfSearch {
  const recording = Number(search.recording);
  const edits = typeof search.edits === "string" ? search.edits : search.edits === undefined ? undefined : JSON.stringify(search.edits);
  return {
    ...(Number.isInteger(recording) && recording > 0 ? { recording } : {}),
    ...(edits && readEdits(edits).length > 0 ? { edits } : {}),
    ...(Number(search.run) === 1 ? { run: 1 } : {}),
  };
}

export function requestOf(search: WhatIfSearch): WhatIfRequest {
  return { recording: search.recording ?? null, edits: readEdits(search.edits) };
}
