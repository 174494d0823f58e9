// Caps on single models as people write them: one model and its share a line.

const MOST_PERCENT = 100;
const LINE = /^(\S.*?)[\s:]+(\d{1,3}(?:\.\d{1,4})?)\s*%?$/;

/** Per cent as it is written, "" for no cap; null when it is no share. */
export function readPercent(text: string): number | null {
  const plain = text.trim().replace(",", ".").replace(/\s*%$/, "");
  if (!/^\d{1,3}(\.\d{1,4})?$/.test(plain)) return null;
  const value = Number(plain);
  return value <= MOST_PERCENT ? value : null;
}

/** Shares by model; null when a line says no such thing, or a model twice. */
export function readCaps(text: string): Record<string, number> | null {
  const caps: Record<string, number> = {};
  for (const line of text.split("\n").map((one) => one.trim()).filter((one) => one !== "")) {
    const [, model, share] = LINE.exec(line) ?? [];
    const value = share === undefined ? null : readPercent(share);
    if (model === undefined || value === null || model in caps) return null;
    caps[model] = value;
  }
  return caps;
}

export const capsText = (caps: Record<string, number>): string => Object.entries(caps).map(([model, share]) => `${model} ${share} %`).join("\n");
