// Which time charts show, and whether as pictures or tables; both stand in the address.
import { useNavigate, useRouterState } from "@tanstack/react-router";
import { useMemo } from "react";

export const SPANS = ["1h", "6h", "24h", "7d", "30d", "1y"] as const;
export type Span = (typeof SPANS)[number];

const HOUR_MS = 3_600_000;
export const SPAN_MS: Record<Span, number> = {
  "1h": HOUR_MS, "6h": 6 * HOUR_MS, "24h": 24 * HOUR_MS, "7d": 168 * HOUR_MS, "30d": 720 * HOUR_MS, "1y": 8760 * HOUR_MS,
};
export const DEFAULT_SPAN: Span = "1h";

export interface ChartView {
  readonly span: Span;
  readonly isTable: boolean;
}

/** What is not understood falls back to the usual span as pictures. */
export function parseChartView(search: string, usual: Span = DEFAULT_SPAN): ChartView {
  const params = new URLSearchParams(search);
  return { span: SPANS.find((entry) => entry === params.get("span")) ?? usual, isTable: params.get("charts") === "table" };
}

/** What the address carries; undefined leaves it out. */
export function chartSearch({ span, isTable }: ChartView, usual: Span = DEFAULT_SPAN): { span: string | undefined; charts: string | undefined } {
  return { span: span === usual ? undefined : span, charts: isTable ? "table" : undefined };
}

export function useChartView(usual: Span = DEFAULT_SPAN): readonly [ChartView, (change: Partial<ChartView>) => void] {
  const search = useRouterState({ select: (state) => state.location.searchStr });
  const navigate = useNavigate();
  const view = useMemo(() => parseChartView(search, usual), [search, usual]);
  const change = (part: Partial<ChartView>): void => {
    const wanted = chartSearch({ ...view, ...part }, usual);
    void navigate({ to: ".", replace: true, search: (old: Record<string, unknown>) => ({ ...old, ...wanted }) } as never);
  };
  return [view, change];
}
