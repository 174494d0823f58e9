// Labels as people type them: one `key=value` per line.

const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,126}[A-Za-z0-9])?$/;

export type Labels = Readonly<Record<string, string>>;

export function writeLabels(labels: Labels): string {
  return Object.entries(labels).map(([key, value]) => `${key}=${value}`).join("\n");
}

export interface ReadLabels {
  readonly labels: Record<string, string>;
  /** The first line that is none; null when all are. */
  readonly wrong: string | null;
}

/** Blank lines are left out; a value may hold further equal signs. */
export function readLabels(text: string): ReadLabels {
  const labels: Record<string, string> = {};
  for (const line of text.split("\n").map((entry) => entry.trim()).filter((entry) => entry !== "")) {
    const at = line.indexOf("=");
    const key = line.slice(0, at).trim();
    if (at < 1 || !NAME.test(key) || key in labels) return { labels, wrong: line };
    labels[key] = line.slice(at + 1).trim();
  }
  return { labels, wrong: null };
}
