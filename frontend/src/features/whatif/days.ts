// Recordings by the day they are of, in the order given: newest first.
type Recorded = { at: string };

export function byDay<T extends Recorded>(recordings: readonly T[], dayOf: (at: string) => string): [string, T[]][] {
  const days: [string, T[]][] = [];
  for (const one of recordings) {
    const day = dayOf(one.at);
    const last = days.at(-1);
    if (last && last[0] === day) last[1].push(one);
    else days.push([day, [one]]);
  }
  return days;
}
