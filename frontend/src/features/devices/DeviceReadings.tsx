// Use, memory, temperature and power of a device over time, beside what was booked of it.
import { useTranslation } from "react-i18next";
import type { Device } from "@/api/types";
import { ReadingsCharts, type Chart } from "@/features/nodes/readings/ReadingsCharts";
import { count, decimal, memory, percent, power, withUnit } from "@/lib/format";

const MIB_PER_GIB = 1024;
const MILLI_PER_PERCENT = 10;
const short = (value: number): string => (Number.isInteger(value) ? count(value) : decimal(value, value < 10 ? 1 : 0));

export function DeviceReadings({ device }: { device: Device }) {
  const { t } = useTranslation();
  const { memory_total_mib: total, power_limit_w: limit } = device;
  const charts: Chart[] = [
    {
      metric: "utilization_pct", per: 1, booked: { metric: "booked_milli", per: MILLI_PER_PERCENT }, name: t("devices.chart.use"), unit: "%", top: 100,
      axis: short, figure: (value) => percent(value, 0),
    },
    {
      metric: "memory_used_mib", per: MIB_PER_GIB, booked: { metric: "booked_mib", per: MIB_PER_GIB }, name: t("devices.chart.memory"), unit: "GiB", axis: short,
      figure: (value) => memory(Math.round(value * MIB_PER_GIB)), top: total === null ? undefined : total / MIB_PER_GIB,
      limit: total === null ? null : { value: total / MIB_PER_GIB, name: t("devices.chart.total", { size: memory(total) }) },
    },
    { metric: "temperature_c", per: 1, name: t("devices.chart.temperature"), unit: "°C", isLifted: true, axis: short, figure: (value) => withUnit(decimal(value, 0), "°C") },
    {
      metric: "power_mw", per: 1000, name: t("devices.chart.power"), unit: "W", axis: short, figure: (value) => power(Math.round(value)),
      limit: limit === null ? null : { value: limit, name: t("devices.chart.limit", { limit: power(limit) }) },
    },
  ];
  return <ReadingsCharts of={{ kind: "device", id: device.id }} charts={charts} />;
}
