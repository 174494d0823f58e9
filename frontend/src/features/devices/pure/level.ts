// Levels and limits of one device, from its answer.
import type { Device } from "@/api/types";

export interface DeviceLevel {
  readonly booked: number;
  /** Null: no valid reading. */
  readonly measured: number | null;
}

const clamp = (value: number): number => Math.max(0, Math.min(1, value));

/** Occupancy: the larger of booked compute and booked memory, against measured utilisation. */
export function levelOf(device: Pick<Device, "booked" | "memory_total_mib" | "reading">): DeviceLevel {
  const total = device.memory_total_mib;
  const memory = total === null || total <= 0 ? 0 : device.booked.memory_mib / total;
  const measured = device.reading?.utilization_pct ?? null;
  return {
    booked: clamp(Math.max(memory, device.booked.compute_milli / 1000)),
    measured: measured === null ? null : clamp(measured / 100),
  };
}

const SHARED_GATE = 0.9;
const WHOLE_GATE = 0.97;
const WHOLE_MILLI = 1000;

/** Share of the booking at which its memory raises an alert: later for a device booked whole. */
export function memoryGate(device: Pick<Device, "booked" | "placements">): number | null {
  if (device.booked.memory_mib <= 0) return null;
  const isWhole = device.placements.some((placement) => placement.compute_milli >= WHOLE_MILLI);
  return isWhole ? WHOLE_GATE : SHARED_GATE;
}
