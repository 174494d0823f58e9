// The axis of an estimated start: a little before now to a little after it, with round times between.

const STEPS_MIN = [1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 720, 1440, 2880, 10_080];
const MINUTE_MS = 60_000;
const MOST_TICKS = 5;
const ROOM = 0.08;

export interface TimeAxis { from: number; to: number; ticks: number[] }

/** Ticks stand on round times of the viewer's zone. */
export function axisOf(now: number, at: number): TimeAxis {
  const span = Math.max(MINUTE_MS, at - now);
  const [from, to] = [now - span * ROOM, now + span * (1 + ROOM)];
  const step = (STEPS_MIN.find((minutes) => span / (minutes * MINUTE_MS) <= MOST_TICKS) ?? 10_080) * MINUTE_MS;
  const zone = new Date(now).getTimezoneOffset() * MINUTE_MS;
  const first = Math.ceil((from - zone) / step) * step + zone;
  const ticks: number[] = [];
  for (let tick = first; tick <= to; tick += step) ticks.push(tick);
  return { from, to, ticks };
}
