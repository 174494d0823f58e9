// Cores, memory, load and power of a host over time.
import { useTranslation } from "react-i18next";
import type { NodeDetail } from "@/api/types";
import { count, decimal, memory, power, withUnit } from "@/lib/format";
import { ReadingsCharts, type Chart } from "./ReadingsCharts";

const MIB_PER_GIB = 1024;
const short = (value: number): string => (Number.isInteger(value) ? count(value) : decimal(value, value < 10 ? 1 : 0));

export function NodeReadings({ node }: { node: NodeDetail }) {
  const { t } = useTranslation();
  const { cpu_count: cpus, memory_mib: total } = node;
  const unit = t("nodes.coreUnit");
  const charts: Chart[] = [
    {
      metric: "cpu_used_milli", per: 1000, name: t("nodes.chart.cores"), unit, axis: short, figure: (value) => withUnit(decimal(value, 1), unit),
      top: cpus ?? undefined, limit: cpus === null ? null : { value: cpus, name: t("nodes.chart.allCores", { cores: count(cpus) }) },
    },
    {
      metric: "memory_used_mib", per: MIB_PER_GIB, name: t("nodes.chart.memory"), unit: "GiB", axis: short, figure: (value) => memory(value * MIB_PER_GIB),
      top: total === null ? undefined : total / MIB_PER_GIB, limit: total === null ? null : { value: total / MIB_PER_GIB, name: t("nodes.chart.total", { size: memory(total) }) },
    },
    { metric: "load1_milli", per: 1000, name: t("nodes.chart.load"), unit: "", axis: short, figure: (value) => decimal(value, 2) },
    { metric: "power_mw", per: 1000, name: t("nodes.chart.power"), unit: "W", axis: short, figure: (value) => power(Math.round(value)) },
  ];
  return <ReadingsCharts of={{ kind: "node", id: node.id }} charts={charts} />;
}
