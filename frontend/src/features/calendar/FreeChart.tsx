// Free capacity by the hour: what is known to be free filled, what is held until nobody knows when stippled above it,
// valley windows beneath; the same as a table, with what it is known from in words.
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Forecast, Window } from "@/api/calendar";
import { dateTime, decimal, shortTime } from "@/lib/format";
import { useWidth } from "@/lib/useWidth";
import { niceTop, valueTicks } from "@/ui/chart/ticks";
import { amounts, type Of, ofWhat, pieces } from "./spans";

const HEIGHT = 150;
const PLOT = { left: 46, right: 6, top: 8, bottom: 34 } as const;
const VALLEY_PX = 8;
const LABEL_PX = 54;

const figure = (value: number) => decimal(value, Number.isInteger(value) ? 0 : 1);

interface FreeChartProps { forecast: Forecast; valleys: readonly Window[] }

export function FreeChart({ forecast, valleys }: FreeChartProps) {
  const { t } = useTranslation();
  const [isTable, setTable] = useState(false);
  const of = ofWhat(forecast);
  return (
    <>
      <div className="row wrap sm mut" style={{ gap: "4px 16px", marginBottom: 6 }}>
        <Key drawing={<rect width="12" height="12" fill="var(--water)" />}>{t(`calendar.free.${of}`)}</Key>
        <Key drawing={<rect width="12" height="12" fill="url(#stipple)" />}>{t("calendar.unknownEnd")}</Key>
        <Key drawing={<rect y="4" width="12" height="4" fill="var(--cat-2)" />}>{t("calendar.valleys")}</Key>
        <button type="button" className="btn sml" style={{ marginLeft: "auto" }} aria-pressed={isTable} onClick={() => setTable(!isTable)}>{t("ui.chart.asTable")}</button>
      </div>
      {isTable ? <FreeTable forecast={forecast} of={of} /> : <FreeSteps forecast={forecast} valleys={valleys} of={of} />}
      <Basis forecast={forecast} />
    </>
  );
}

function Key({ drawing, children }: { drawing: ReactNode; children: ReactNode }) {
  return <span className="row" style={{ gap: 6 }}><svg width="12" height="12" aria-hidden="true">{drawing}</svg>{children}</span>;
}

/** What the figures are known from, and what they cannot know. */
function Basis({ forecast }: { forecast: Forecast }) {
  const { t } = useTranslation();
  return (
    <p className="sm mut" style={{ marginTop: 8 }}>
      {t("calendar.basis", { limit: forecast.by_time_limit, history: forecast.by_history, promised: forecast.promised })}{" "}
      {forecast.end_unknown > 0 ? <span className="unk">{t("calendar.basisUnknown", { count: forecast.end_unknown })}</span> : t("calendar.allKnown")}{" "}
      {t("calendar.noNewJobs")}
    </p>
  );
}

function FreeSteps({ forecast: { points }, valleys, of }: FreeChartProps & { of: Of }) {
  const { t, i18n } = useTranslation();
  const [ref, width] = useWidth<HTMLDivElement>(640);
  const values = points.map((point) => amounts(point, of));
  const times = points.map((point) => Date.parse(point.at));
  const axis = { from: times[0] ?? 0, to: times.at(-1) ?? 1 };
  const top = niceTop(Math.max(1, ...values.map(({ free, unknown }) => free + unknown)));
  const floor = HEIGHT - PLOT.bottom;
  const room = width - PLOT.left - PLOT.right;
  const x = (ms: number) => PLOT.left + ((ms - axis.from) / Math.max(1, axis.to - axis.from)) * room;
  const y = (value: number) => floor - (value / top) * (floor - PLOT.top);
  const every = Math.max(1, Math.ceil(LABEL_PX / (room / Math.max(1, points.length))));
  const first = values[0];
  return (
    <div ref={ref}>
      <svg width={width} height={HEIGHT} role="img" aria-label={t(`calendar.label.${of}`, { now: figure(first?.free ?? 0), most: figure(Math.max(0, ...values.map(({ free }) => free))), hours: points.length - 1 })}>
        {valueTicks(0, top).map((value, index) => (
          <g key={value}>
            <path d={`M${PLOT.left} ${Math.round(y(value))}H${width - PLOT.right}`} className={index === 0 ? "axs" : "ax"} />
            <text x={PLOT.left - 5} y={y(value) + 4} textAnchor="end" className="d">{figure(value)}</text>
          </g>
        ))}
        {points.slice(0, -1).map((point, place) => {
          const { free, unknown } = values[place] ?? { free: 0, unknown: 0 };
          const [left, right] = [x(times[place] ?? 0), x(times[place + 1] ?? 0)];
          return (
            <g key={point.at}>
              <title>{t(`calendar.at.${of}`, { time: dateTime(point.at, i18n.language), free: figure(free), unknown: figure(unknown) })}</title>
              <rect x={left} y={y(free)} width={Math.max(1, right - left)} height={floor - y(free)} fill="var(--water)" />
              {unknown > 0 ? <rect x={left} y={y(free + unknown)} width={Math.max(1, right - left)} height={y(free) - y(free + unknown)} fill="url(#stipple)" opacity=".7" /> : null}
            </g>
          );
        })}
        {pieces(valleys, axis).map((piece) => <rect key={piece.opens} x={PLOT.left + piece.from * room} y={floor + 3} width={(piece.to - piece.from) * room} height={VALLEY_PX} fill="var(--cat-2)"><title>{t("calendar.window", { from: dateTime(piece.opens, i18n.language), to: dateTime(piece.closes, i18n.language) })}</title></rect>)}
        {points.map((point, place) => (place % every === 0 && place > 0 ? <text key={point.at} x={x(times[place] ?? 0)} y={HEIGHT - 6} textAnchor={place === points.length - 1 ? "end" : "middle"} className="d">{shortTime(point.at, i18n.language)}</text> : null))}
      </svg>
    </div>
  );
}

function FreeTable({ forecast: { points }, of }: { forecast: Forecast; of: Of }) {
  const { t, i18n } = useTranslation();
  return (
    <div className="charttable" tabIndex={0}>
      <table className="tight">
        <thead><tr><th>{t("calendar.from")}</th><th className="r">{t(`calendar.free.${of}`)}</th>{of === "devices" ? <th className="r">{t("calendar.whole")}</th> : null}<th className="r">{t("calendar.unknownEnd")}</th></tr></thead>
        <tbody>
          {points.map((point) => {
            const { free, unknown } = amounts(point, of);
            return <tr key={point.at}><td className="nw">{dateTime(point.at, i18n.language)}</td><td className="r b">{figure(free)}</td>{of === "devices" ? <td className="r">{point.free_devices}</td> : null}<td className="r">{figure(unknown)}</td></tr>;
          })}
        </tbody>
      </table>
    </div>
  );
}
