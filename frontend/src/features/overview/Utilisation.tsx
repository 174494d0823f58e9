// Use of all accelerators over time: measured beside booked, over a span that the address names.
import { useTranslation } from "react-i18next";
import { ReadingsCharts } from "@/features/nodes/readings/ReadingsCharts";
import { count, percent } from "@/lib/format";
import { Panel } from "@/ui/Panel";

const MILLI_PER_PERCENT = 10;
const HEIGHT = 148;

export function UtilisationPanel() {
  const { t } = useTranslation();
  const chart = {
    metric: "utilization_pct", per: 1, booked: { metric: "booked_milli", per: MILLI_PER_PERCENT }, name: t("overview.measured"), unit: "%", top: 100, height: HEIGHT,
    axis: count, figure: (value: number) => percent(value),
  } as const;
  return (
    <Panel title={t("overview.utilisation")} meta={t("overview.utilisationNote")}>
      <ReadingsCharts of={{ kind: "cluster" }} charts={[chart]} usual="24h" />
    </Panel>
  );
}
