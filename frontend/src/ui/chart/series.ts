// One measured series over time, in steps: what is drawn of it, and where there was no reading.

/** Statistics per step; null where there was no reading. All lists have one member per step. */
export interface Steps {
  readonly count: readonly (number | null)[];
  readonly mean: readonly (number | null)[];
  readonly min: readonly (number | null)[];
  readonly max: readonly (number | null)[];
  readonly p50: readonly (number | null)[];
  readonly p95: readonly (number | null)[];
  readonly p99: readonly (number | null)[];
}

export interface Series {
  readonly fromMs: number;
  readonly stepMs: number;
  readonly points: number;
  readonly steps: Steps;
  /** What was booked, per step; null where no booking applies to this figure. */
  readonly booked: readonly (number | null)[] | null;
}

/** Steps first..last, both included. */
export interface Run {
  readonly first: number;
  readonly last: number;
}

export type Place = (step: number, value: number) => readonly [x: number, y: number];

export const endMs = (series: Series): number => series.fromMs + series.points * series.stepMs;

/** An empty step beside a step with two readings: one of them came a moment early or late, and none is missing. */
function isJitter({ count }: Steps, i: number): boolean {
  const [before, after] = [count[i - 1] ?? 0, count[i + 1] ?? 0];
  return before > 0 && after > 0 && Math.max(before, after) === 2 && Math.min(before, after) === 1;
}

function runs(points: number, wanted: (step: number) => boolean): Run[] {
  const found: Run[] = [];
  for (let i = 0; i < points; i += 1) {
    if (!wanted(i)) continue;
    const first = i;
    while (i + 1 < points && wanted(i + 1)) i += 1;
    found.push({ first, last: i });
  }
  return found;
}

const isMissing = ({ steps }: Series, i: number): boolean => steps.mean[i] == null && !isJitter(steps, i);

/** Where there was no reading. The last step may still be running: alone it is no gap. */
export function gaps(series: Series): Run[] {
  return runs(series.points, (i) => isMissing(series, i)).filter(({ first }) => first < series.points - 1);
}

/** Where a line is drawn without a break. */
export function stretches(series: Series): Run[] {
  return runs(series.points, (i) => !isMissing(series, i));
}

const point = ([x, y]: readonly [number, number]): string => `${x.toFixed(1)} ${y.toFixed(1)}`;

/** A line through the middles of the steps, broken at gaps; a step that stands alone is a dash as wide as it lasts. */
export function linePath(series: Series, values: readonly (number | null)[], place: Place): string {
  return stretches(series)
    .map(({ first, last }) => {
      const at: string[] = [];
      for (let i = first; i <= last; i += 1) {
        const value = values[i];
        if (value == null) continue;
        if (first === last) at.push(point(place(i, value)), point(place(i + 1, value)));
        else at.push(point(place(i + 0.5, value)));
      }
      return at.length > 0 ? `M${at.join("L")}` : "";
    })
    .join("");
}

/** The band from the least to the greatest reading, broken at gaps. */
export function bandPath(series: Series, place: Place): string {
  const { min, max } = series.steps;
  return stretches(series)
    .map(({ first, last }) => {
      const known = Array.from({ length: last - first + 1 }, (_, i) => first + i).filter((i) => min[i] != null && max[i] != null);
      if (known.length === 0) return "";
      const ends = (i: number): number[] => (first === last ? [i, i + 1] : [i + 0.5]);
      const above = known.flatMap((i) => ends(i).map((x) => point(place(x, max[i] as number))));
      const below = known.flatMap((i) => ends(i).map((x) => point(place(x, min[i] as number)))).reverse();
      return `M${[...above, ...below].join("L")}Z`;
    })
    .join("");
}

/** The area below what was booked, as steps. */
export function bookedPath(series: Series, place: Place): string {
  const booked = series.booked ?? [];
  return runs(series.points, (i) => booked[i] != null)
    .map(({ first, last }) => {
      const at: string[] = [];
      for (let i = first; i <= last; i += 1) at.push(point(place(i, booked[i] as number)), point(place(i + 1, booked[i] as number)));
      return `M${point(place(first, 0))}L${at.join("L")}L${point(place(last + 1, 0))}Z`;
    })
    .join("");
}

function most(values: readonly (number | null)[]): number | null {
  return values.reduce<number | null>((top, value) => (value == null ? top : Math.max(top ?? value, value)), null);
}

/** The greatest value there is to draw; null when nothing was measured or booked. */
export function greatest(series: Series): number | null {
  return most([most(series.steps.max), most(series.booked ?? [])]);
}

export function least(series: Series): number | null {
  const negated = most(series.steps.min.map((value) => (value == null ? null : -value)));
  return negated === null ? null : -negated;
}

/** The newest step with a reading; null when there is none. */
export function newest(series: Series): number | null {
  for (let i = series.points - 1; i >= 0; i -= 1) if (series.steps.mean[i] != null) return i;
  return null;
}
