// How figures, sizes, times and spans are written. One figure is written the same way everywhere.

export const NB = "\u202f"; // narrow no-break space, before every unit and the per cent sign
const MINUS = "\u2212";

export function count(value: number): string {
  const text = Math.abs(Math.round(value)).toString().replace(/\B(?=(\d{3})+$)/g, ",");
  return value < 0 && text !== "0" ? MINUS + text : text;
}

export function decimal(value: number, digits: number): string {
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) !== 0 ? MINUS + text : text;
}

export function percent(value: number, digits = 1): string {
  return decimal(value, digits) + NB + "%";
}

export function withUnit(value: number | string, unit: string): string {
  return (typeof value === "number" ? count(value) : value) + NB + unit;
}

const TIB_FROM_GIB = 10_240;

/** Memory as sentences say it: GiB from one GiB on (a decimal where it is not whole), MiB below, TiB for whole clusters. */
export function memory(mib: number): string {
  if (Math.abs(mib) < 1024) return withUnit(mib, "MiB");
  const gib = mib / 1024;
  if (Math.abs(gib) >= TIB_FROM_GIB) return withUnit(decimal(gib / 1024, 1), "TiB");
  const whole = Math.abs(gib) >= 100 || Math.abs(gib - Math.round(gib)) < 0.05;
  return withUnit(whole ? count(gib) : decimal(gib, 1), "GiB");
}

/** Memory where a booking is exact. */
export function exactMemory(mib: number): string {
  return withUnit(mib, "MiB");
}

/** GiB without the unit, for axes and pieces. */
export function gib(mib: number): string {
  const value = mib / 1024;
  return Math.abs(value - Math.round(value)) < 0.05 ? count(value) : decimal(value, 1);
}

export function cores(milli: number): string {
  const value = milli / 1000;
  return Number.isInteger(value) ? count(value) : decimal(value, 1);
}

export function power(watts: number): string {
  if (Math.abs(watts) >= 1_000_000) return withUnit(decimal(watts / 1_000_000, 2), "MW");
  if (Math.abs(watts) >= 10_000) return withUnit(decimal(watts / 1000, 1), "kW");
  return withUnit(watts, "W");
}

const pad = (value: number): string => String(value).padStart(2, "0");

/** A span in at most two units: 212 ms, 38 s, 2 min 10 s, 31 min, 2 h 05, 3 d 04 h. */
export function duration(ms: number): string {
  if (ms < 0) return MINUS + duration(-ms);
  if (ms < 1000) return withUnit(ms, "ms");
  const seconds = Math.floor(ms / 1000);
  if (seconds < 10 && ms % 1000 >= 50) return withUnit(decimal(Math.floor(ms / 100) / 10, 1), "s");
  if (seconds < 60) return withUnit(seconds, "s");
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10 && seconds % 60) return `${withUnit(minutes, "min")}${NB}${withUnit(seconds % 60, "s")}`;
  if (minutes < 60) return withUnit(minutes, "min");
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${withUnit(hours, "h")}${NB}${pad(minutes % 60)}`;
  return `${withUnit(Math.floor(hours / 24), "d")}${NB}${withUnit(pad(hours % 24), "h")}`;
}

export const seconds = (value: number): string => duration(value * 1000);

/** A span in one unit, for ages and axes: 38 s, 4 min, 1.5 h, 3 d. */
export function shortDuration(ms: number): string {
  if (ms < 60_000) return duration(ms);
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return withUnit(minutes, "min");
  const hours = minutes / 60;
  if (hours >= 48) return withUnit(Math.floor(hours / 24), "d");
  return withUnit(Number.isInteger(hours) || hours >= 10 ? count(Math.floor(hours)) : decimal(Math.floor(hours * 10) / 10, 1), "h");
}

/** How long ago; future instants (a clock that is ahead) count as now. */
export function age(at: string | Date, now: number): string {
  const past = Math.floor((now - new Date(at).getTime()) / 1000);
  return past < 1 ? withUnit(0, "s") : shortDuration(past * 1000);
}

/** A share of one as three decimals: score 0.729. */
export function score(ppm: number, decimals = 3): string {
  return decimal(ppm / 1_000_000, decimals);
}

/** Three decimals, or all six where three would show different scores as the same. */
export function scoreDecimals(scoresPpm: readonly (number | null | undefined)[]): number {
  const known = scoresPpm.filter((ppm) => ppm != null);
  return new Set(known.map((ppm) => score(ppm))).size === new Set(known).size ? 3 : 6;
}

/** A term inside a bar: .32 */
export function fraction(ppm: number): string {
  return decimal(ppm / 1_000_000, 2).replace(/^(.?)0\./, "$1.");
}

export function weight(ppm: number): string {
  return decimal(ppm / 1_000_000, 2);
}

/** Lists of CPU numbers as ranges: 0–3, 8 */
export function cpuRanges(cpus: readonly number[]): string {
  const sorted = [...cpus].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let start = 0; start < sorted.length; ) {
    let end = start;
    while (end + 1 < sorted.length && sorted[end + 1] === (sorted[end] as number) + 1) end += 1;
    parts.push(start === end ? String(sorted[start]) : `${sorted[start]}–${sorted[end]}`);
    start = end + 1;
  }
  return parts.join(", ");
}

/** Equal pieces as count × size: `4 × 20`, mixed ones joined by +. Sizes in MiB, written in GiB. */
export function pieces(sizesMib: readonly number[]): string {
  const counts = new Map<string, number>();
  for (const size of sizesMib) counts.set(gib(size), (counts.get(gib(size)) ?? 0) + 1);
  return [...counts].map(([size, times]) => `${times} × ${size}`).join(" + ");
}

const COUNTED = /(?<![\d.,\w-])\d{4,}(?= (?:[KMGT]i?B|ms|cores|nodes|devices|jobs)| ?[核台个])/g;

/** A sentence of the server with thousands parted and the narrow space before its units. */
export function typeset(text: string): string {
  return text.replace(COUNTED, (digits) => count(Number(digits))).replace(/(\d) (?=(?:[KMGT]i?B|%|ms|s|min|h|W|kW|MW|MHz|°C)(?![\w/]))/g, `$1${NB}`);
}

/** English dates are written day before month. */
const locale = (lang: string): string => (lang === "en" ? "en-GB" : lang);

// The language tag decides order and words; hours are always of 24 and in the viewer's zone.
export function clockTime(at: string | Date, lang: string): string {
  return new Date(at).toLocaleTimeString(locale(lang), { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
}

export function shortTime(at: string | Date, lang: string): string {
  return new Date(at).toLocaleTimeString(locale(lang), { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
}

/** A day without its year: 30 Nov. */
export function dayLabel(at: string | Date, lang: string): string {
  return new Date(at).toLocaleDateString(locale(lang), lang.startsWith("zh") ? { month: "long", day: "numeric" } : { day: "numeric", month: "short" });
}

export function dateTime(at: string | Date, lang: string, withSeconds = false): string {
  const date = new Date(at);
  const day = dayLabel(date, lang);
  const time = withSeconds ? clockTime(date, lang) : shortTime(date, lang);
  const year = date.getFullYear() === new Date().getFullYear() ? "" : ` ${date.getFullYear()}`;
  return lang.startsWith("zh") ? `${year ? `${year.trim()}年` : ""}${day} ${time}` : `${day}${year}, ${time}`;
}

export function topLineTime(at: Date, lang: string): string {
  const weekday = at.toLocaleDateString(locale(lang), { weekday: "short" });
  const day = at.toLocaleDateString(locale(lang), lang.startsWith("zh") ? { month: "long", day: "numeric" } : { day: "numeric", month: "short" });
  return lang.startsWith("zh") ? `${day} ${weekday} ${shortTime(at, lang)}` : `${weekday} ${day}, ${shortTime(at, lang)}`;
}

export function zone(at: Date): string {
  const minutes = -at.getTimezoneOffset();
  const hours = Math.floor(Math.abs(minutes) / 60);
  const rest = Math.abs(minutes) % 60;
  if (minutes === 0) return "UTC";
  return `UTC${minutes < 0 ? MINUS : "+"}${hours}${rest ? `:${pad(rest)}` : ""}`;
}
