// The arithmetic of the share bars: what each queue books of the capacity, in per cent of it.
import type { Queue } from "@/api/types";

export type Unit = "devices" | "cores";

export interface Share {
  queue: Queue;
  unit: Unit;
  capacityMilli: number;
  bookedMilli: number;
  capMilli: number | null;
  bookedPercent: number;
  /** Beyond the quota; 0 within it or without one. */
  beyondMilli: number;
  /** Of what is booked, the part that goes back on demand. */
  borrowedMilli: number;
}

/** Devices where the cluster has any, cores else. */
export function unitOf(queues: readonly Queue[]): Unit {
  return queues.some((queue) => queue.capacity_device_milli > 0) ? "devices" : "cores";
}

export function shareOf(queue: Queue, unit: Unit): Share {
  const devices = unit === "devices";
  const capacityMilli = devices ? queue.capacity_device_milli : queue.capacity_core_milli;
  const bookedMilli = devices ? queue.booked_device_milli : queue.booked_core_milli;
  const capMilli = devices ? queue.cap_device_milli : queue.cap_core_milli;
  return {
    queue, unit, capacityMilli, bookedMilli, capMilli,
    bookedPercent: capacityMilli > 0 ? (bookedMilli / capacityMilli) * 100 : 0,
    beyondMilli: capMilli == null ? 0 : Math.max(0, bookedMilli - capMilli),
    borrowedMilli: devices ? queue.borrowed_device_milli : queue.borrowed_core_milli,
  };
}

const STEP = 10;

/** The end of the common axis in per cent: past every booking and every quota, in tens, with room for what waits. */
export function axisMax(shares: readonly Share[]): number {
  const most = Math.max(0, ...shares.map((share) => Math.max(share.bookedPercent, share.queue.quota_percent ?? 0)));
  return Math.min(Math.max(100, Math.ceil(most / STEP) * STEP), Math.ceil((most + STEP / 2) / STEP) * STEP) || STEP;
}

export function axisTicks(max: number): number[] {
  const step = max <= 60 ? STEP : 2 * STEP;
  return Array.from({ length: Math.floor(max / step) + 1 }, (_, index) => index * step);
}
