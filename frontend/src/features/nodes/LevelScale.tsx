// A level bar with its figures above and a scale below: booked wide, measured narrow, the limit a dashed post.
import { useTranslation } from "react-i18next";
import { percent } from "@/lib/format";
import { useWidth } from "@/lib/useWidth";
import { niceStep } from "@/ui/StaffGauge";

const BAR = { top: 18, height: 22, inner: 25, innerHeight: 8 } as const;
const END_ROOM = 46;

export interface LevelScaleProps {
  readonly label: string;
  /** The whole; null when unknown, then the bar has no scale. */
  readonly total: number | null;
  readonly booked: number;
  readonly measured: number | null;
  /** Use that Headrace did not start; stands at the far end. */
  readonly foreign?: number;
  /** Share of the booking at which an alert is raised. */
  readonly gate?: number | null;
  readonly unit: string;
  /** A host, where use above the booking is its system at work and no person's business. */
  readonly isHost?: boolean;
  /** A value as a figure with its unit. */
  readonly figure: (value: number) => string;
  /** A value as an axis label, without unit, and the size of one axis unit. */
  readonly axis: { readonly per: number; readonly text: (value: number) => string };
}

interface Ticks {
  readonly major: readonly number[];
  readonly minor: readonly number[];
}

/** Labelled step of a scale: quarters where they are whole, else a round step. */
export function scaleStep(total: number, per: number): number {
  const quarter = total / per / 4;
  return (Number.isInteger(quarter) ? quarter : niceStep(total / per)) * per;
}

/** Marks of the scale in values: labelled steps, and halves between them. */
export function scaleTicks(total: number, per: number): Ticks {
  const step = scaleStep(total, per);
  const count = Math.floor(total / step + 1e-9);
  const major = Array.from({ length: count + 1 }, (_, i) => i * step);
  const minor = Array.from({ length: count + 1 }, (_, i) => (i + 0.5) * step).filter((value) => value < total);
  return { major, minor };
}

type Sized = LevelScaleProps & { readonly total: number; readonly width: number };

function Axis({ total, width, unit, axis }: Sized) {
  const scale = width / total;
  const { major, minor } = scaleTicks(total, axis.per);
  const isNearEnd = (value: number): boolean => (total - value) * scale < END_ROOM;
  return (
    <>
      {minor.map((value) => <path key={value} d={`M${String(value * scale)} 40v4`} stroke="var(--ink-3)" />)}
      {[...major, total].map((value, i) => (
        <path key={`m${String(i)}`} d={`M${String(value * scale)} 40v7`} stroke="var(--ink-3)" />
      ))}
      {major.filter((value) => !isNearEnd(value)).map((value) => (
        <text key={`t${String(value)}`} x={value * scale} y="59" textAnchor={value === 0 ? "start" : "middle"} className="d">
          {axis.text(value)}
        </text>
      ))}
      <text x={width} y="59" textAnchor="end" className="d">{axis.text(total)}{"\u202f"}{unit}</text>
    </>
  );
}

function Gate({ at, share, width }: { at: number; share: number; width: number }) {
  const { t } = useTranslation();
  const isLate = at > width - 70;
  return (
    <>
      <path d={`M${String(at)} 15v28`} stroke="var(--signal)" strokeWidth="1.5" strokeDasharray="3 2" />
      <text x={isLate ? Math.min(width, at + 4) : at + 4} y="11" textAnchor={isLate ? "end" : "start"} style={{ fill: "var(--signal)" }}>
        {t("nodes.alertAt", { share: percent(share * 100, 0) })}
      </text>
    </>
  );
}

function Figures({ booked, measured, gate, figure }: Pick<LevelScaleProps, "booked" | "measured" | "gate" | "figure">) {
  const { t } = useTranslation();
  const isHigh = measured !== null && gate != null && booked > 0 && measured > booked * gate;
  return (
    <text x="0" y="11">
      {t("nodes.measured")} {measured === null ? t("ui.unknown") : <tspan className="k">{figure(measured)}</tspan>}
      {" · "}{t("nodes.booked")} <tspan className="k">{figure(booked)}</tspan>
      {measured !== null && booked > 0 ? (
        <> · <tspan style={isHigh ? { fill: "var(--signal)", fontWeight: 600 } : undefined}>{percent((measured / booked) * 100, 0)}</tspan></>
      ) : null}
    </text>
  );
}

function Bars({ total, width, booked, measured, foreign = 0, gate, isHost = false }: Sized) {
  const scale = width / total;
  const span = (value: number): number => Math.max(0, Math.min(width, value * scale));
  const limit = gate == null || booked <= 0 ? null : booked * gate;
  // Above the gate of a booking, or above the booking where there is no gate, the measured part is a person's business.
  const from = limit ?? booked;
  const over = !isHost && measured !== null && measured > from ? span(measured) - span(from) : 0;
  return (
    <>
      <rect y={BAR.top} width={width} height={BAR.height} fill="var(--track)" />
      <rect y={BAR.top} width={span(booked)} height={BAR.height} fill="var(--booked)" />
      {foreign > 0 ? <rect x={width - span(foreign)} y={BAR.top} width={span(foreign)} height={BAR.height} fill="url(#hatch)" /> : null}
      {measured === null ? null : <rect y={BAR.inner} width={span(measured)} height={BAR.innerHeight} fill="var(--water)" />}
      {over > 0 ? <rect x={span(from)} y={BAR.inner} width={over} height={BAR.innerHeight} fill="var(--signal-fill)" /> : null}
    </>
  );
}

export function LevelScale(props: LevelScaleProps) {
  const { total, booked, gate } = props;
  const [ref, width] = useWidth<HTMLDivElement>(390);
  const isScaled = total !== null && total > 0;
  return (
    <div ref={ref}>
      <svg width={width} height={isScaled ? 62 : 14} role="img" aria-label={props.label}>
        <Figures {...props} />
        {isScaled ? (
          <>
            <Bars {...props} total={total} width={width} />
            {gate == null || booked <= 0 ? null : <Gate at={(width / total) * booked * gate} share={gate} width={width} />}
            <Axis {...props} total={total} width={width} />
          </>
        ) : null}
      </svg>
    </div>
  );
}
