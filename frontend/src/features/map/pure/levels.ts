// Booked and measured as shares of a vessel, in each mode; unknown stays null.
import type { MapDevice, MapNode } from "./model";
import { isCapacity } from "./marks";

export const MODES = ["level", "memory", "temperature", "power", "health", "queue", "team"] as const;
export type MapMode = (typeof MODES)[number];

/** What a vessel shows: booked and measured, one reading on the ramp, health alone, or who holds it. */
export type Kind = "levels" | "ramp" | "health" | "holder";
const KINDS: Record<MapMode, Kind> = {
  level: "levels", memory: "levels", temperature: "ramp", power: "ramp", health: "health", queue: "holder", team: "holder",
};
export const kindOf = (mode: MapMode): Kind => KINDS[mode];

export interface Level {
  /** Share booked, 0..1; null when the whole is unknown. */
  readonly booked: number | null;
  /** Share measured, 0..1; null when there is no valid reading. */
  readonly measured: number | null;
}

export interface VesselPixels {
  readonly booked: number;
  readonly measured: number;
  readonly over: number;
}

export const RAMP_STEPS = 9;
export const TEMPERATURE_SCALE = { from: 32, to: 80, limit: 81 } as const;

const clamp = (value: number): number => Math.max(0, Math.min(1, value));

function share(part: number | null, whole: number | null): number | null {
  return part === null || whole === null || whole <= 0 ? null : clamp(part / whole);
}

/** Memory of a device: booked and used of its total. */
export function memoryLevel(device: MapDevice): Level {
  return {
    booked: share(device.bookedMib, device.memoryTotalMib),
    measured: share(device.usedMib, device.memoryTotalMib),
  };
}

/** Occupancy of a device: the larger of booked compute and booked memory, against measured utilisation. */
export function occupancyLevel(device: MapDevice): Level {
  const memory = share(device.bookedMib, device.memoryTotalMib) ?? 0;
  const measured = device.utilPct === null ? null : clamp(device.utilPct / 100);
  return { booked: clamp(Math.max(device.bookedMilli / 1000, memory)), measured };
}

/** Occupancy of a host: booked cores and measured CPU of all its cores, or its memory. */
export function hostLevel(node: MapNode, mode: MapMode): Level {
  if (mode === "memory") {
    return { booked: share(node.bookedMemoryMib, node.memoryMib), measured: share(node.memoryUsedMib, node.memoryMib) };
  }
  const cores = node.cpuUsedMilli === null ? null : node.cpuUsedMilli / 1000;
  return { booked: share(node.bookedCores, node.cpuCount), measured: share(cores, node.cpuCount) };
}

export function deviceLevel(device: MapDevice, mode: MapMode): Level {
  return mode === "memory" ? memoryLevel(device) : occupancyLevel(device);
}

/** Whole pixels of a vessel of height `height`; what is measured above the booking is `over`. */
export function vesselPixels(level: Level, height: number): VesselPixels {
  const booked = level.booked ? Math.max(1, Math.round(height * level.booked)) : 0;
  const least = booked > 0 && level.measured ? 1 : 0;
  const measured = Math.max(least, Math.round(height * (level.measured ?? 0)));
  return { booked, measured: Math.min(measured, booked), over: Math.max(0, measured - booked) };
}

/** Step of the load ramp for `value` on from..to; values outside take the end steps. */
export function rampStep(value: number, from: number, to: number): number {
  return Math.round(clamp((value - from) / (to - from)) * (RAMP_STEPS - 1));
}

/** Top of the power scale: the highest reading, rounded up to the next 100 W (at least 100 W). */
export function powerScaleW(nodes: readonly MapNode[]): number {
  let top = 0;
  for (const node of nodes) for (const device of node.devices) top = Math.max(top, device.powerMw ?? 0);
  return Math.max(100, Math.ceil(top / 100_000) * 100);
}

function mean(values: readonly (number | null)[]): number | null {
  const known = values.filter((value): value is number => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
}

const groupLevels = new WeakMap<readonly MapNode[], Map<MapMode, Level>>();

/** Mean levels of a group, kept as long as its list of nodes: a moving view asks for them with every pass. */
export function groupLevel(nodes: readonly MapNode[], mode: MapMode): Level {
  const kept = groupLevels.get(nodes) ?? new Map<MapMode, Level>();
  groupLevels.set(nodes, kept);
  const level = kept.get(mode) ?? meanLevel(nodes, mode);
  kept.set(mode, level);
  return level;
}

/** Mean levels of a group: its devices that count as capacity, or the ready hosts where it has no devices. */
function meanLevel(nodes: readonly MapNode[], mode: MapMode): Level {
  const devices = nodes.flatMap((node) => node.devices.filter((device) => isCapacity(node, device)));
  const hosts = nodes.filter((node) => node.state === "ready");
  const hasDevices = nodes.some((node) => node.devices.length > 0);
  const levels = hasDevices ? devices.map((d) => deviceLevel(d, mode)) : hosts.map((n) => hostLevel(n, mode));
  return { booked: mean(levels.map((level) => level.booked)), measured: mean(levels.map((level) => level.measured)) };
}

/** Nearest-rank percentile of known values; null when none is known. */
export function percentile(values: readonly (number | null)[], rank: number): number | null {
  const known = values.filter((value): value is number => value !== null).sort((a, b) => a - b);
  return known.length === 0 ? null : (known[Math.max(0, Math.ceil(known.length * rank) - 1)] as number);
}
