// A figure over time: what was booked as an area, measured as a line in its band, gaps stippled; read by pointer or arrow keys.
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { clockTime, dateTime, dayLabel, shortTime } from "@/lib/format";
import { useWidth } from "@/lib/useWidth";
import { bandPath, bookedPath, endMs, gaps, greatest, least, linePath, newest, type Place, type Series } from "./series";
import { isDaily, niceTop, timeTicks, valueTicks } from "./ticks";
import "./chart.css";

const HEIGHT = 112;
const PLOT = { left: 52, right: 6, top: 8, bottom: 20 } as const;
const LABEL_PX = { narrow: 6.3, wide: 11.5 } as const;
const TICK_ROOM_PX = 62;
const DAY_MS = 86_400_000;

export interface TimeChartProps {
  readonly name: string;
  readonly series: Series;
  /** A value with its unit, for words. */
  readonly figure: (value: number) => string;
  /** A value without unit, for the axis; the unit stands at its top. */
  readonly axis: (value: number) => string;
  readonly unit: string;
  /** Ends of the axis where they are given by the thing itself. */
  readonly top?: number | undefined;
  /** A whole or a limit, drawn as a dashed line. */
  readonly limit?: { readonly value: number; readonly name: string } | null;
  /** Whether the axis may start above zero. */
  readonly isLifted?: boolean;
  /** In pixels. */
  readonly height?: number;
}

interface Frame {
  readonly width: number;
  readonly height: number;
  /** Where the plot begins and ends. */
  readonly left: number;
  readonly floor: number;
  readonly low: number;
  readonly high: number;
  readonly place: Place;
  readonly stepPx: number;
}

/** How wide the longest label of the axis is. */
function labelPx({ axis, unit }: Pick<TimeChartProps, "axis" | "unit">, values: readonly number[]): number {
  const labels = values.map((value, i) => `${axis(value)}${i === values.length - 1 ? ` ${unit}` : ""}`);
  return Math.max(0, ...labels.map((label) => [...label].reduce((sum, sign) => sum + (sign > "\u2e80" ? LABEL_PX.wide : LABEL_PX.narrow), 0)));
}

function frameOf(props: TimeChartProps, width: number): Frame {
  const { series, top, limit, isLifted = false, height = HEIGHT } = props;
  const high = top ?? niceTop(Math.max(greatest(series) ?? 0, limit?.value ?? 0));
  const low = isLifted ? Math.max(0, Math.floor(((least(series) ?? 0) - 1) / 10) * 10) : 0;
  const floor = height - PLOT.bottom;
  const left = Math.max(PLOT.left, Math.ceil(labelPx(props, valueTicks(low, high))) + 6);
  const stepPx = (width - left - PLOT.right) / Math.max(1, series.points);
  const scale = (floor - PLOT.top) / Math.max(1e-9, high - low);
  const place: Place = (step, value) => [left + step * stepPx, floor - (Math.min(high, Math.max(low, value)) - low) * scale];
  return { width, height, left, floor, low, high, place, stepPx };
}

export function TimeChart(props: TimeChartProps) {
  const { name, series } = props;
  const { t } = useTranslation();
  const [ref, width] = useWidth<HTMLDivElement>(390);
  const [picked, setPicked] = useState<number | null>(null);
  const shown = picked === null ? newest(series) : Math.min(picked, series.points - 1);
  const sentence = useSentence(props);
  const frame = frameOf(props, width);
  const pick = (x: number): void => { setPicked(Math.max(0, Math.min(series.points - 1, Math.floor((x - frame.left) / frame.stepPx)))); };
  return (
    <div ref={ref} className="chart">
      <div className="charthead">
        <h3>{name}</h3>
        <span className="sm mut">{shown === null ? <span className="unk">{t("ui.chart.noReadings")}</span> : sentence(shown)}</span>
      </div>
      <svg
        width={width} height={frame.height} tabIndex={0} role="slider" aria-label={t("ui.chart.label", { name })} aria-valuemin={0} aria-valuemax={series.points - 1}
        aria-valuenow={shown ?? 0} aria-valuetext={shown === null ? t("ui.chart.noReadings") : sentence(shown)}
        onPointerMove={(event) => { pick(event.clientX - event.currentTarget.getBoundingClientRect().left); }}
        onPointerLeave={() => { setPicked(null); }} onBlur={() => { setPicked(null); }}
        onKeyDown={(event) => {
          const next = stepFor(event.key, shown ?? series.points - 1, series.points);
          if (next === null) return;
          event.preventDefault();
          setPicked(next);
        }}
      >
        <Marks {...props} frame={frame} />
        {picked === null || shown === null ? null : <Cursor {...props} frame={frame} step={shown} />}
      </svg>
    </div>
  );
}

/** Where a key moves the cursor; null where it does not. */
function stepFor(key: string, at: number, points: number): number | null {
  const by: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1, PageUp: 10, PageDown: -10, Home: -points, End: points };
  const move = by[key];
  return move === undefined ? null : Math.max(0, Math.min(points - 1, at + move));
}

function useSentence({ series, figure }: TimeChartProps): (step: number) => string {
  const { t, i18n } = useTranslation();
  const { steps, booked } = series;
  return (step) => {
    const at = new Date(series.fromMs + step * series.stepMs);
    const long = endMs(series) - series.fromMs > DAY_MS;
    const time = long ? dateTime(at, i18n.language) : series.stepMs < 60_000 ? clockTime(at, i18n.language) : shortTime(at, i18n.language);
    const mean = steps.mean[step];
    const parts = [mean == null ? t("ui.chart.noReadingThen") : words(step, mean)];
    const held = booked?.[step];
    if (held != null) parts.push(t("ui.chart.bookedIs", { value: figure(held) }));
    return `${time} · ${parts.join(" · ")}`;
  };
  function words(step: number, mean: number): string {
    const [min, max, p95] = [steps.min[step], steps.max[step], steps.p95[step]];
    if (min == null || max == null || min === max) return t("ui.chart.valueIs", { value: figure(mean) });
    return t("ui.chart.meanIs", { mean: figure(mean), min: figure(min), max: figure(max), p95: p95 == null ? t("ui.unknown") : figure(p95) });
  }
}

type Framed = TimeChartProps & { readonly frame: Frame };

function Marks(props: Framed) {
  const { series, frame, limit } = props;
  const { place, width, left } = frame;
  return (
    <>
      <Axes {...props} />
      {series.booked ? <path d={bookedPath(series, place)} fill="var(--booked)" opacity=".55" /> : null}
      <Gaps {...props} />
      <path d={bandPath(series, place)} fill="var(--water)" opacity=".3" />
      <path d={linePath(series, series.steps.p95, place)} fill="none" stroke="var(--water)" strokeWidth="1" strokeDasharray="3 2" />
      <path d={linePath(series, series.steps.mean, place)} fill="none" stroke="var(--water)" strokeWidth="1.8" strokeLinejoin="round" />
      {limit && limit.value <= frame.high ? (
        <path d={`M${String(left)} ${place(0, limit.value)[1].toFixed(1)}H${String(width - PLOT.right)}`} stroke="var(--ink-3)" strokeDasharray="6 3"><title>{limit.name}</title></path>
      ) : null}
    </>
  );
}

function Gaps({ series, frame }: Framed) {
  const { t, i18n } = useTranslation();
  const at = (step: number): string => dateTime(new Date(series.fromMs + step * series.stepMs), i18n.language);
  return gaps(series).map(({ first, last }) => (
    <rect
      key={first} x={frame.place(first, 0)[0]} y={PLOT.top} width={(last + 1 - first) * frame.stepPx} height={frame.floor - PLOT.top} fill="url(#stipple)" opacity=".55"
    >
      <title>{t("ui.chart.gap", { from: at(first), to: at(last + 1) })}</title>
    </rect>
  ));
}

function Axes({ series, frame, axis, unit }: Framed) {
  const { i18n } = useTranslation();
  const { width, height, left, floor, low, high, place } = frame;
  const values = valueTicks(low, high);
  const { at, stepMs } = timeTicks(series.fromMs, endMs(series), Math.floor((width - left) / TICK_ROOM_PX));
  const label = (ms: number): string => (isDaily(stepMs) ? dayLabel(new Date(ms), i18n.language) : shortTime(new Date(ms), i18n.language));
  return (
    <>
      {values.map((value, i) => {
        const y = Math.round(place(0, value)[1]);
        return (
          <g key={value}>
            <path d={`M${String(left)} ${String(y)}H${String(width - PLOT.right)}`} className={i === 0 ? "axs" : "ax"} />
            <text x={left - 5} y={y + 4} textAnchor="end" className="d">{axis(value)}{i === values.length - 1 ? `\u202f${unit}` : ""}</text>
          </g>
        );
      })}
      {at.map((ms) => {
        const x = place((ms - series.fromMs) / series.stepMs, low)[0];
        const anchor = x > width - 20 ? "end" : x < left + 12 ? "start" : "middle";
        return (
          <g key={ms}>
            <path d={`M${x.toFixed(1)} ${String(floor)}v4`} className="axs" />
            <text x={x} y={height - 4} textAnchor={anchor} className="d">{label(ms)}</text>
          </g>
        );
      })}
    </>
  );
}

function Cursor({ series, frame, step }: Framed & { step: number }) {
  const mean = series.steps.mean[step];
  const [x] = frame.place(step + 0.5, 0);
  return (
    <g pointerEvents="none">
      <path d={`M${x.toFixed(1)} ${String(PLOT.top)}V${String(frame.floor)}`} stroke="var(--ink-2)" />
      {mean == null ? null : <circle cx={x} cy={frame.place(step, mean)[1]} r="3" fill="var(--water)" stroke="var(--surface)" strokeWidth="1.5" />}
    </g>
  );
}
