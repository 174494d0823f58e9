// Charts of readings of one device, one node or the cluster, over a time that the address names.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { readingsQuery, type Readings, type ReadingsOf } from "@/api/inventory";
import { ChartKey } from "@/ui/chart/ChartKey";
import { ChartTable } from "@/ui/chart/ChartTable";
import { TimeChart, type TimeChartProps } from "@/ui/chart/TimeChart";
import { Answer } from "@/ui/ListLooks";
import { Seg } from "@/ui/Seg";
import { serverNow } from "../useServerNow";
import { seriesOf, type Shown } from "./series";
import { DEFAULT_SPAN, type Span, SPAN_MS, SPANS, useChartView } from "./span";

export type Chart = Shown & Omit<TimeChartProps, "series">;

interface ReadingsChartsProps {
  readonly of: ReadingsOf;
  readonly charts: readonly Chart[];
  /** Shown where the address names none. */
  readonly usual?: Span;
}

export function ReadingsCharts({ of, charts, usual = DEFAULT_SPAN }: ReadingsChartsProps) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [{ span, isTable }, change] = useChartView(usual);
  const query = useQuery(readingsQuery(of, { spanMs: SPAN_MS[span], now: () => serverNow(client) }));
  return (
    <>
      <div className="chartbar">
        <Seg label={t("ui.chart.spanLabel")} value={span} onChange={(next) => { change({ span: next }); }} options={SPANS.map((value) => ({ value, label: t(`ui.chart.span.${value}`) }))} />
        <button type="button" className="btn sml" aria-pressed={isTable} onClick={() => { change({ isTable: !isTable }); }}>{t("ui.chart.asTable")}</button>
      </div>
      <Answer query={query} loading={t("nodes.readingHistory")}>{(data) => <Charts answer={data} charts={charts} isTable={isTable} />}</Answer>
    </>
  );
}

function Charts({ answer, charts, isTable }: { answer: Readings; charts: readonly Chart[]; isTable: boolean }) {
  return (
    <>
      <div className="chartgrid">
        {charts.map((chart) => {
          const series = seriesOf(answer, chart);
          if (!series) return null;
          return isTable ? <ChartTable key={chart.metric} {...chart} series={series} /> : <TimeChart key={chart.metric} {...chart} series={series} />;
        })}
      </div>
      {isTable ? null : <ChartKey booked={charts.some((chart) => chart.booked !== undefined)} limit={charts.some((chart) => chart.limit !== undefined)} />}
    </>
  );
}
