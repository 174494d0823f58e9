// The arithmetic of the capacity channel: installed -> takes jobs -> booked -> measured, and what leaves the bed at each gate.
import type { Overview } from "@/api/types";

export type Unit = "devices" | "cores";

export interface Flow {
  unit: Unit;
  installed: number;
  schedulable: number;
  booked: number;
  /** Null where nothing was measured. */
  measured: number | null;
}

const share = (whole: number, percent: number | null): number | null => (percent == null ? null : (whole * percent) / 100);

/** Devices in their equivalents; cores where the cluster has no accelerator. */
export function flowOf(overview: Overview): Flow {
  const { devices, accelerators, cpu } = overview;
  if (devices.total > 0) {
    return {
      unit: "devices",
      installed: devices.total,
      schedulable: devices.schedulable,
      booked: share(devices.schedulable, accelerators.booked_percent) ?? 0,
      measured: share(devices.schedulable, accelerators.measured_percent?.mean ?? null),
    };
  }
  return { unit: "cores", installed: cpu.cores, schedulable: cpu.cores, booked: cpu.booked_cores, measured: share(cpu.cores, cpu.measured_percent) };
}

export interface Losses { out: number; free: number; idle: number | null; over: number }

/** What falls out at each gate. Use above the booking is no loss: it is `over`. */
export function lossesOf(flow: Flow): Losses {
  const measured = flow.measured ?? null;
  return {
    out: Math.max(0, flow.installed - flow.schedulable),
    free: Math.max(0, flow.schedulable - flow.booked),
    idle: measured == null ? null : Math.max(0, flow.booked - measured),
    over: measured == null ? 0 : Math.max(0, measured - flow.booked),
  };
}
