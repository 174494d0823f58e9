// The key of the map: the marks of the mode, then the marks of states.
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { count, withUnit } from "@/lib/format";
import { CATEGORIES, colourPlaces } from "../pure/holders";
import { RAMP_STEPS, TEMPERATURE_SCALE, kindOf, type MapMode } from "../pure/levels";
import type { Holder } from "../pure/model";
import { Vessel } from "./Vessel";

const STATES = ["suspect", "quarantined", "missing", "unknown", "recovered", "cordoned"] as const;
const STEP_PX = 20;

function Item({ mark, children }: { mark: ReactNode; children: ReactNode }) {
  return <span className="it">{mark}<span>{children}</span></span>;
}

function Ramp({ from, to }: { from: string; to: string }) {
  const width = RAMP_STEPS * STEP_PX;
  return (
    <svg width={width} height="26" aria-hidden="true">
      {Array.from({ length: RAMP_STEPS }, (_, step) => (
        <rect key={step} x={step * STEP_PX} width={STEP_PX} height="12" fill={`var(--load-${String(step)})`} />
      ))}
      <text x="0" y="25">{from}</text>
      <text x={width} y="25" textAnchor="end">{to}</text>
    </svg>
  );
}

function LevelItems() {
  const { t } = useTranslation();
  return (
    <>
      <Item mark={<Vessel booked={0.75} measured={0.42} />}>{t("map.legend.level")}</Item>
      <Item mark={<Vessel booked={1} measured={0.05} />}>{t("map.legend.idle")}</Item>
      <Item mark={<Vessel booked={0.5} measured={0.7} />}>{t("map.legend.over")}</Item>
    </>
  );
}

function TemperatureItems() {
  const { t } = useTranslation();
  const { from, to, limit } = TEMPERATURE_SCALE;
  const cap = (
    <svg width="12" height="14" aria-hidden="true">
      <rect width="12" height="14" fill="var(--load-8)" />
      <rect width="12" height="4" fill="var(--signal-fill)" />
    </svg>
  );
  return (
    <>
      <span>{t("map.mode.temperature")}</span>
      <Ramp from={withUnit(from, "°C")} to={withUnit(to, "°C")} />
      <Item mark={cap}>{t("map.legend.above", { limit: withUnit(limit, "°C") })}</Item>
    </>
  );
}

function HolderItems({ found }: { found: readonly Holder[] }) {
  const { t } = useTranslation();
  const places = colourPlaces(found);
  const shown = [...places].map(([name, place]) => ({ name, place, devices: found.find((holder) => holder.name === name)?.devices ?? 0 }));
  const others = found.slice(CATEGORIES).reduce((sum, holder) => sum + holder.devices, 0);
  if (found.length === 0) return <span>{t("map.legend.nobody")}</span>;
  return (
    <>
      {shown.map(({ name, place, devices }) => <Item key={name} mark={<Swatch fill={`var(--cat-${String(place + 1)})`} />}>{name} <b>{count(devices)}</b></Item>)}
      <Item mark={<Swatch fill="var(--line-strong)" />}>{t("map.legend.others")}{others > 0 ? <> <b>{count(others)}</b></> : null}</Item>
      <Item mark={<Swatch fill="var(--track)" />}>{t("map.legend.free")}</Item>
    </>
  );
}

function Swatch({ fill }: { fill: string }) {
  return <svg width="12" height="14" aria-hidden="true"><rect width="12" height="14" fill={fill} /></svg>;
}

export function Legend({ mode, powerScaleW, holders }: { mode: MapMode; powerScaleW: number; holders: readonly Holder[] }) {
  const { t } = useTranslation();
  return (
    <div className="legend">
      {kindOf(mode) === "levels" ? <LevelItems /> : null}
      {mode === "health" ? <Item mark={<Swatch fill="var(--load-1)" />}>{t("ui.state.healthy")}</Item> : null}
      {kindOf(mode) === "holder" ? <HolderItems found={holders} /> : null}
      {mode === "temperature" ? <TemperatureItems /> : null}
      {mode === "power" ? <><span>{t("map.mode.power")}</span><Ramp from={withUnit(0, "W")} to={withUnit(powerScaleW, "W")} /></> : null}
      {STATES.map((state) => (
        <Item key={state} mark={<Vessel mark={state} booked={1} measured={0.5} />}>{t(`ui.state.${state}`)}</Item>
      ))}
    </div>
  );
}
