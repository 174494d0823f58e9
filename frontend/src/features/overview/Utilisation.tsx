// Use of all accelerators over time: measured beside booked, over a span that the address names.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { readingsQuery } from "@/api/inventory";
import { ReadingsCharts } from "@/features/nodes/readings/ReadingsCharts";
import { isYoung } from "@/features/nodes/readings/series";
import { SPAN_MS } from "@/features/nodes/readings/span";
import { serverNow } from "@/features/nodes/useServerNow";
import { count, percent } from "@/lib/format";
import { Panel } from "@/ui/Panel";

const CLUSTER = { kind: "cluster" } as const;
const MILLI_PER_PERCENT = 10;
const HEIGHT = 148;

export function UtilisationPanel() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const now = () => serverNow(client);
  const { data: day } = useQuery(readingsQuery(CLUSTER, { spanMs: SPAN_MS["24h"], now }));
  const young = day !== undefined && isYoung(day, "utilization_pct", now());
  const chart = {
    metric: "utilization_pct", per: 1, booked: { metric: "booked_milli", per: MILLI_PER_PERCENT }, name: t("overview.measured"), unit: "%", top: 100, height: HEIGHT,
    axis: count, figure: (value: number) => percent(value),
  } as const;
  return (
    <Panel title={t("overview.utilisation")} meta={young ? `${t("overview.utilisationNote")} · ${t("overview.young")}` : t("overview.utilisationNote")}>
      <ReadingsCharts of={CLUSTER} charts={[chart]} usual={young ? "1h" : "24h"} />
    </Panel>
  );
}
