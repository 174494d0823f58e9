// An amount of what a request asks for, in the reader's language: memory in its own unit, counted things by their names.
import type { useTranslation } from "react-i18next";
import { count, memory, percent, power, withUnit } from "@/lib/format";

type Translate = ReturnType<typeof useTranslation>["t"];
const COUNTED = new Set(["devices", "cores", "replicas"]);
const MILLI = 1000;

export function amountOf(value: number, unit: string | null | undefined, t: Translate): string {
  if (unit === "MiB") return value === 0 ? withUnit(0, "GiB") : memory(value);
  if (unit === "mW") return power(Math.round(value / MILLI));
  if (unit === "milli") return percent(value / 10, value % 10 === 0 ? 0 : 1);
  if (unit && COUNTED.has(unit)) return t(`why.unit.${unit}`, { count: value });
  return unit ? withUnit(count(value), unit) : count(value);
}
