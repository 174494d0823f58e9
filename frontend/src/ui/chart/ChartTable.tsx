// The same series as a table: one row per step, newest first.
import { useTranslation } from "react-i18next";
import { count, dateTime } from "@/lib/format";
import { Known } from "@/ui/Words";
import type { TimeChartProps } from "./TimeChart";

const PARTS = ["mean", "min", "p50", "p95", "p99", "max"] as const;

export function ChartTable({ name, series, figure }: Pick<TimeChartProps, "name" | "series" | "figure">) {
  const { t, i18n } = useTranslation();
  const rows = Array.from({ length: series.points }, (_, i) => series.points - 1 - i);
  const when = (step: number): string => dateTime(new Date(series.fromMs + step * series.stepMs), i18n.language, series.stepMs < 60_000);
  return (
    <div className="chart">
      <h3>{name}</h3>
      <div className="charttable" tabIndex={0}>
        <table className="tight">
          <caption className="visually-hidden">{name}</caption>
          <thead>
            <tr>
              <th scope="col">{t("ui.chart.from")}</th>
              {PARTS.map((part) => <th key={part} scope="col" className="r">{t(`ui.chart.part.${part}`)}</th>)}
              {series.booked ? <th scope="col" className="r">{t("ui.chart.booked")}</th> : null}
              <th scope="col" className="r">{t("ui.chart.part.count")}</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((step) => (
              <tr key={step}>
                <td className="nw">{when(step)}</td>
                {PARTS.map((part) => <td key={part} className="r nw"><Known value={series.steps[part][step]} format={figure} /></td>)}
                {series.booked ? <td className="r nw"><Known value={series.booked[step]} format={figure} /></td> : null}
                <td className="r">{count(series.steps.count[step] ?? 0)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}
