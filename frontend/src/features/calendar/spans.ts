// Spans of time on one axis: what of them lies inside it, and the figures of a forecast.
import type { Forecast, ForecastPoint, Window } from "@/api/calendar";

export interface Axis { from: number; to: number }
export interface Piece { from: number; to: number; opens: string; closes: string }

/** What of the windows lies on the axis, as parts of it. */
export function pieces(windows: readonly Window[], { from, to }: Axis): Piece[] {
  const place = (ms: number) => (Math.min(to, Math.max(from, ms)) - from) / (to - from);
  return windows
    .map((window) => ({ from: place(Date.parse(window.opens_at)), to: place(Date.parse(window.closes_at)), opens: window.opens_at, closes: window.closes_at }))
    .filter((piece) => piece.to > piece.from);
}

export type Of = "devices" | "cores";

/** Devices, but cores where nothing of devices is ever free or held. */
export function ofWhat({ points }: Forecast): Of {
  return points.some((point) => point.free_device_milli > 0 || point.unknown_device_milli > 0) ? "devices" : "cores";
}

const WHOLE_MILLI = 1000;

/** Free at least, and held until nobody knows when, in devices or cores. */
export function amounts(point: ForecastPoint, of: Of): { free: number; unknown: number } {
  const [free, unknown] = of === "devices" ? [point.free_device_milli, point.unknown_device_milli] : [point.free_core_milli, point.unknown_core_milli];
  return { free: free / WHOLE_MILLI, unknown: unknown / WHOLE_MILLI };
}
