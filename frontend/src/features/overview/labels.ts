// Where the labels of one line of waits stand: each above its mark, moved apart where they would touch, alike ones said once.

export interface Label { text: string; x: number; strong: boolean }

const CHAR_PX = 6.4;
const APART_PX = 10;

const widthOf = (label: Label): number => label.text.length * CHAR_PX;

/** Labels from left to right within 0..rightPx; `x` is the middle of each. Neighbours with the same text become one. */
export function placeLabels(wanted: readonly Label[], rightPx: number): Label[] {
  const merged: Label[] = [];
  for (const label of wanted) {
    const last = merged.at(-1);
    if (last?.text === label.text) merged[merged.length - 1] = { ...last, x: (last.x + label.x) / 2, strong: last.strong || label.strong };
    else merged.push({ ...label });
  }
  for (let i = 1; i < merged.length; i += 1) {
    const [before, label] = [merged[i - 1] as Label, merged[i] as Label];
    label.x = Math.max(label.x, before.x + (widthOf(before) + widthOf(label)) / 2 + APART_PX);
  }
  let limit = rightPx;
  for (let i = merged.length - 1; i >= 0; i -= 1) {
    const label = merged[i] as Label;
    label.x = Math.min(label.x, limit - widthOf(label) / 2);
    limit = label.x - widthOf(label) / 2 - APART_PX;
  }
  return merged;
}
