import { describe, expect, it } from "vitest";
import type { Readings } from "@/api/inventory";
import { isYoung, seriesOf } from "./series";
import { chartSearch, parseChartView, SPANS } from "./span";

const part = (metric: Readings["series"][number]["metric"], mean: (number | null)[]) => ({
  metric, count: mean.map((value) => (value === null ? null : 1)), mean, min: mean, max: mean, p50: mean, p95: mean, p99: mean,
});
const ANSWER: Readings = {
  from: "2026-11-30T03:00:00Z", to: "2026-11-30T03:00:30Z", step_s: 10, grain: "raw", points: 3,
  series: [part("memory_used_mib", [2048, null, 0]), part("booked_mib", [4096, 4096, null])],
};

describe("readings as series", () => {
  it("shows memory in GiB beside what was booked, and no reading as none", () => {
    const found = seriesOf(ANSWER, { metric: "memory_used_mib", per: 1024, booked: { metric: "booked_mib", per: 1024 } });
    expect(found?.steps.mean).toEqual([2, null, 0]);
    expect(found?.booked).toEqual([4, 4, null]);
    expect([found?.stepMs, found?.points, found?.fromMs]).toEqual([10_000, 3, Date.UTC(2026, 10, 30, 3)]);
  });

  it("has nothing to say of what was not asked", () => {
    expect(seriesOf(ANSWER, { metric: "power_mw", per: 1000 })).toBeNull();
  });
});

describe("a young cluster", () => {
  const day = (first: number): Readings => ({ ...ANSWER, from: "2026-11-29T03:00:00Z", step_s: 3600, points: 24, series: [part("utilization_pct", Array.from({ length: 24 }, (_, i) => (i < first ? null : 5)))] });
  const now = Date.UTC(2026, 10, 30, 3);

  it("has no reading older than two hours, or none at all", () => {
    expect([20, 22, 23, 24].map((first) => isYoung(day(first), "utilization_pct", now))).toEqual([false, false, true, true]);
    expect(isYoung(day(0), "power_mw", now)).toBe(true);
  });
});

describe("time in the address", () => {
  it("comes back as it was, and is left out by default", () => {
    for (const span of SPANS) {
      const kept = Object.fromEntries(Object.entries(chartSearch({ span, isTable: true })).filter(([, value]) => value !== undefined)) as Record<string, string>;
      expect(parseChartView(new URLSearchParams(kept).toString())).toEqual({ span, isTable: true });
    }
    expect(chartSearch({ span: "1h", isTable: false })).toEqual({ span: undefined, charts: undefined });
  });

  it("falls back where it is not understood", () => expect(parseChartView("span=5y&charts=pie")).toEqual({ span: "1h", isTable: false }));
});
