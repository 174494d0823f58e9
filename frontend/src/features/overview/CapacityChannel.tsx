// The capacity channel: booked is its width, measured the water in it, losses fall out of the bed.
import { useTranslation } from "react-i18next";
import type { Overview } from "@/api/types";
import { count, decimal, percent } from "@/lib/format";
import { usePhone } from "@/lib/usePhone";
import { useWidth } from "@/lib/useWidth";
import { flowOf, lossesOf } from "./channel";

const HEIGHT = 284;
const TOP = 48;
const FULL = 158;
const BOTTOM = 266;
const SPILL_IN = 26;
const GATES = [0.205, 0.455, 0.705] as const;
const LEAST_WIDTH = 760;
const LOSS_PX = 138;
const LAST_LOSS_PX = 172;
const SIGN_PX = 5.8;

/** Whole where it is a count, one decimal below ten. */
function amount(value: number): string {
  return value >= 10 || Number.isInteger(value) ? count(value) : decimal(value, 1);
}

export function CapacityChannel({ overview }: { overview: Overview }) {
  const phone = usePhone();
  const [ref, width] = useWidth<HTMLDivElement>(LEAST_WIDTH);
  return (
    <div ref={ref} className="scroll">
      <Drawing overview={overview} width={phone ? Math.max(LEAST_WIDTH, width) : Math.max(640, width)} />
    </div>
  );
}

function Drawing({ overview, width }: { overview: Overview; width: number }) {
  const { t } = useTranslation();
  const flow = flowOf(overview);
  const losses = lossesOf(flow);
  const k = flow.installed > 0 ? FULL / flow.installed : 0;
  const x = [0, ...GATES.map((part) => part * width), width] as [number, number, number, number, number];
  const h = [flow.installed * k, flow.schedulable * k, flow.booked * k, (flow.measured ?? 0) * k] as [number, number, number, number];
  const share = (value: number) => (flow.schedulable > 0 ? percent((value / flow.schedulable) * 100) : percent(0));
  const known = flow.measured !== null;
  // A wide fall leaves no room beside it: its figure then stands in it.
  const besideFree = beside(x[2], losses.free > 0 ? h[1] - h[2] : -SPILL_IN);
  const freeInside = losses.free > 0 && x[3] + SPILL_IN - besideFree < LOSS_PX;
  const freeX = freeInside ? x[2] + SPILL_IN + 12 : besideFree;
  const besideOut = beside(x[1], h[0] - h[1]);
  const outInside = x[2] + SPILL_IN - besideOut < LOSS_PX;
  const idleX = beside(x[3], (losses.idle ?? 0) > 0 ? h[2] - h[3] : -SPILL_IN);
  const { devices, nodes } = overview;
  const out = flow.unit === "devices" ? [t("overview.outDetail", { quarantined: devices.quarantined ?? 0, missing: devices.missing ?? 0 }), t("overview.outMore", { unknown: devices.unknown ?? 0, count: nodes.total - (nodes.ready ?? 0) })] : [];
  return (
    <svg width={width} height={HEIGHT} role="img" aria-label={t("overview.channelLabel", {
      installed: amount(flow.installed), schedulable: amount(flow.schedulable), booked: amount(flow.booked), measured: flow.measured == null ? t("ui.unknown") : amount(flow.measured),
      unit: t(`overview.unit.${flow.unit}`),
    })}>
      {losses.out > 0 ? <Spill x={x[1]} from={h[1]} to={h[0]} fill="url(#hatch)" edge="var(--ink-3)" /> : null}
      {losses.free > 0 ? <Spill x={x[2]} from={h[2]} to={h[1]} fill="url(#dots)" edge="var(--booked-edge)" /> : null}
      {known && (losses.idle ?? 0) > 0 ? <Spill x={x[3]} from={h[3]} to={h[2]} fill="var(--booked)" edge="var(--booked-edge)" /> : null}
      <rect x="0" y={TOP} width={x[1]} height={h[0]} fill="var(--track)" />
      <rect x={x[1]} y={TOP} width={x[2] - x[1]} height={h[1]} fill="var(--water-soft)" />
      <rect x={x[2]} y={TOP} width={x[3] - x[2]} height={h[2]} fill="var(--booked)" />
      <rect x={x[3]} y={TOP} width={width - x[3]} height={known ? h[3] : h[2]} fill={known ? "var(--water-area)" : "url(#stipple)"} />
      {losses.over > 0 ? <rect x={x[3]} y={TOP + h[2]} width={width - x[3]} height={h[3] - h[2]} fill={flow.unit === "devices" ? "var(--signal-fill)" : "url(#hatch-water)"} /> : null}
      <Current from={0} to={x[1]} height={h[0]} stroke="var(--line-strong)" opacity={0.7} />
      <Current from={x[1]} to={x[2]} height={h[1]} stroke="var(--booked-edge)" opacity={0.45} />
      <Current from={x[2]} to={x[3]} height={h[2]} stroke="var(--water)" opacity={0.4} />
      {known ? <Current from={x[3]} to={width} height={Math.min(h[2], h[3])} stroke="var(--ink-inverse)" opacity={0.35} /> : null}
      <path d={`M0 ${TOP}H${width}`} stroke="var(--water)" strokeWidth="1.5" />
      <Gate x={x[1]} height={h[0]} /><Gate x={x[2]} height={h[1]} /><Gate x={x[3]} height={h[2]} />
      <Stage x={-10} name={t(`overview.installed.${flow.unit}`)} value={amount(flow.installed)} />
      <Stage x={x[1]} name={t("overview.schedulable")} value={amount(flow.schedulable)} share={flow.installed > 0 ? percent((flow.schedulable / flow.installed) * 100) : ""} />
      <Stage x={x[2]} name={t("overview.booked")} value={amount(flow.booked)} share={share(flow.booked)} />
      <Stage x={x[3]} name={t("overview.measured")} value={flow.measured == null ? t("ui.unknown") : amount(flow.measured)} share={flow.measured == null ? "" : share(flow.measured)} unknown={!known} />
      {losses.out > 0 ? <Loss x={outInside ? x[1] + SPILL_IN + 12 : besideOut} plate={outInside} value={amount(losses.out)} what={t("overview.out")} details={out} /> : null}
      <Loss x={freeX} plate={freeInside} value={amount(losses.free)} what={t("overview.free")} details={[t(`overview.freeDetail.${flow.unit}`)]} />
      {losses.idle == null ? (
        <Loss x={x[3] + 10} value="" what={t("overview.notMeasured")} details={[t("overview.notMeasuredDetail")]} />
      ) : losses.over > 0 ? (
        <Loss x={x[3] + 10} value={amount(losses.over)} what={t("overview.over")} details={[t("overview.overDetail")]} />
      ) : (
        <Loss x={idleX} isNarrow={width - idleX < LAST_LOSS_PX} value={amount(losses.idle)} what={t("overview.idle")}
          details={flow.booked > 0 ? [t("overview.idleDetail", { share: percent((losses.idle / flow.booked) * 100) })] : []} />
      )}
    </svg>
  );
}

const beside = (x: number, spill: number) => x + SPILL_IN + Math.max(2, spill) + 9;

/** Water that leaves, falling from the bed. */
function Spill({ x, from, to, fill, edge }: { x: number; from: number; to: number; fill: string; edge: string }) {
  const w = Math.max(2, to - from);
  const y0 = TOP + from;
  const y1 = TOP + to;
  const left = x + SPILL_IN;
  const d = `M${x - 1} ${y0}H${left}C${left + w * 0.9} ${y0} ${left + w} ${y0 + 10} ${left + w} ${y0 + 26 + w * 0.3}V${BOTTOM}H${left}V${y1 + 10}C${left} ${y1 + 2} ${left - 4} ${y1} ${left - 10} ${y1}H${x - 1}Z`;
  return <path d={d} fill={fill} stroke={edge} />;
}

function Gate({ x, height }: { x: number; height: number }) {
  return (
    <g stroke="var(--ink)" strokeWidth="2">
      <path d={`M${x} ${TOP - 7}V${TOP + height + 7}`} />
      <path d={`M${x - 4} ${TOP - 7}h8`} />
    </g>
  );
}

function Current({ from, to, height, stroke, opacity }: { from: number; to: number; height: number; stroke: string; opacity: number }) {
  if (height < 12) return null;
  return [1, 2, 3, 4].map((i) => {
    const y = TOP + (height * i) / 5;
    const wide = to - from;
    return <path key={i} d={`M${from + 8} ${y}C${from + wide * 0.3} ${y - 2.5} ${from + wide * 0.6} ${y + 2.5} ${to - 8} ${y}`} stroke={stroke} fill="none" opacity={opacity} />;
  });
}

function Stage({ x, name, value, share = "", unknown = false }: { x: number; name: string; value: string; share?: string; unknown?: boolean }) {
  return (
    <>
      <text x={x + 10} y="12">{name}</text>
      <text x={x + 10} y="35" style={{ fontSize: 22, fontWeight: 500, fill: unknown ? "var(--st-unknown)" : "var(--ink)", letterSpacing: "-.015em" }}>
        {value}
        {share ? <tspan dx="6" className="k" style={{ fontSize: 13, letterSpacing: 0 }}>{share}</tspan> : null}
      </text>
    </>
  );
}

/** Of a line in figures' widths; a Han character takes two. */
const signs = (line: string) => [...line].reduce((sum, sign) => sum + (sign > "\u2e80" ? 2 : 1), 0);

interface LossProps { x: number; value: string; what: string; details: string[]; plate?: boolean; isNarrow?: boolean }

/** Where it is narrow, the words stand below the figure. */
function Loss({ x, value, what, details, plate = false, isNarrow = false }: LossProps) {
  return (
    <>
      {plate ? <rect x={x - 6} y="220" width={12 + SIGN_PX * Math.max(...details.map(signs))} height={24 + 15 * details.filter(Boolean).length} fill="var(--surface)" /> : null}
      <text x={x} y="236">
        <tspan className="k" style={{ fontSize: 15 }}>{value}</tspan> <tspan x={isNarrow ? x : undefined} dy={isNarrow ? 16 : undefined} style={{ fontSize: 13, fill: "var(--ink)" }}>{what}</tspan>
      </text>
      {details.filter(Boolean).map((line, index) => <text key={line} x={x} y={252 + (isNarrow ? 15 : 0) + index * 15}>{line}</text>)}
    </>
  );
}
