// Reads the loosely typed facts of a node: mounts, runtimes, images, data sets, warnings.

import { visible } from "./visible";

export interface Mount {
  readonly path: string;
  readonly source: string;
  readonly fsType: string;
  readonly totalMib: number | null;
}

type Facts = Record<string, unknown>;

const isFacts = (value: unknown): value is Facts => typeof value === "object" && value !== null && !Array.isArray(value);
const text = (value: unknown): string => (typeof value === "string" || typeof value === "number" ? String(value) : "");

export function readMount(value: unknown): Mount {
  if (!isFacts(value)) return { path: text(value), source: "", fsType: "", totalMib: null };
  const total = value.total_mib;
  return { path: text(value.path), source: text(value.source), fsType: text(value.fs_type), totalMib: typeof total === "number" ? total : null };
}

/** A fact as one line: its text, its name with version, or its JSON where neither is there. */
export function lineOf(value: unknown): string {
  if (!isFacts(value)) return text(value);
  const name = text(value.name) || text(value.reference) || text(value.path) || text(value.message);
  if (name === "") return JSON.stringify(value);
  const version = text(value.version);
  return version === "" ? name : `${name} ${version}`;
}

/** Raw evidence as lines, whether it came as text, as a list or as an object. */
export function evidenceLines(value: unknown): readonly string[] {
  if (value === null || value === undefined || value === "") return [];
  if (Array.isArray(value)) return value.flatMap(evidenceLines);
  if (isFacts(value)) return Object.entries(value).map(([key, entry]) => visible(`${key}: ${text(entry) || JSON.stringify(entry)}`));
  return visible(text(value)).split("\n").filter((line) => line.trim() !== "");
}
