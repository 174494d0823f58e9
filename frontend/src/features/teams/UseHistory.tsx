// Hours per day by queue: stacked columns with an axis, the same as a table, days before anything was known stippled.
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { DayUse, TeamUse } from "@/api/teams";
import { dayLabel, decimal } from "@/lib/format";
import { useWidth } from "@/lib/useWidth";
import { niceTop, valueTicks } from "@/ui/chart/ticks";
import { Known } from "@/ui/Words";
import { type Hours, hoursOf, partsOf, queuesOf } from "./days";

const HEIGHT = 150;
const PLOT = { left: 46, right: 4, top: 8, bottom: 20 } as const;
const COLOURS = 6;
const LABEL_PX = 58;

/** A day without a time of day, whatever the reader's zone. */
const labelOf = (day: DayUse, lang: string) => dayLabel(`${day.day}T12:00:00`, lang);
const colour = (index: number) => `var(--cat-${(index % COLOURS) + 1})`;
const hoursText = (value: number) => decimal(value, value >= 100 || Number.isInteger(value) ? 0 : 1);

export function UseHistory({ use }: { use: TeamUse }) {
  const { t } = useTranslation();
  const [isTable, setTable] = useState(false);
  const hours = hoursOf(use.days);
  const queues = queuesOf(use.days, hours);
  return (
    <>
      <div className="row wrap sm mut" style={{ gap: "4px 16px", marginBottom: 6 }}>
        <span>{t(`teams.${hours}`)}</span>
        {queues.map((queue, index) => <span key={queue} className="row" style={{ gap: 6 }}><svg width="12" height="12" aria-hidden="true"><rect width="12" height="12" fill={colour(index)} /></svg>{queue}</span>)}
        <button type="button" className="btn sml" style={{ marginLeft: "auto" }} aria-pressed={isTable} onClick={() => setTable(!isTable)}>{t("ui.chart.asTable")}</button>
      </div>
      {isTable ? <DayTable days={use.days} queues={queues} hours={hours} /> : <DayColumns days={use.days} queues={queues} hours={hours} />}
    </>
  );
}

interface DaysProps { days: readonly DayUse[]; queues: readonly string[]; hours: Hours }

function DayColumns({ days, queues, hours }: DaysProps) {
  const { t, i18n } = useTranslation();
  const [ref, width] = useWidth<HTMLDivElement>(560);
  const top = niceTop(Math.max(0, ...days.map((day) => day[hours] ?? 0)));
  const floor = HEIGHT - PLOT.bottom;
  const y = (value: number) => floor - (value / top) * (floor - PLOT.top);
  const step = (width - PLOT.left - PLOT.right) / Math.max(1, days.length);
  const every = Math.max(1, Math.ceil(LABEL_PX / step));
  const total = days.reduce((sum, day) => sum + (day[hours] ?? 0), 0);
  return (
    <div ref={ref}>
      <svg width={width} height={HEIGHT} role="img" aria-label={t(`teams.historyLabel.${hours}`, { total: hoursText(total), span: days.length })}>
        {valueTicks(0, top).map((value, index) => (
          <g key={value}>
            <path d={`M${PLOT.left} ${Math.round(y(value))}H${width - PLOT.right}`} className={index === 0 ? "axs" : "ax"} />
            <text x={PLOT.left - 5} y={y(value) + 4} textAnchor="end" className="d">{hoursText(value)}{"\u202f"}h</text>
          </g>
        ))}
        {days.map((day, place) => {
          const x = PLOT.left + place * step;
          const parts = partsOf(day, queues, hours);
          const title = day[hours] == null ? t("ui.unknown") : `${hoursText(day[hours])} h`;
          return (
            <g key={day.day}>
              <title>{`${labelOf(day, i18n.language)}: ${title}`}</title>
              {parts === null
                ? <rect x={x} y={PLOT.top} width={step} height={floor - PLOT.top} fill="url(#stipple)" opacity=".55" />
                : parts.map((part) => <rect key={part.queue} x={x + step * 0.1} y={y(part.to)} width={Math.max(1, step * 0.8)} height={Math.max(0, y(part.from) - y(part.to))} fill={colour(queues.indexOf(part.queue))} />)}
              {place % every === 0 ? <text x={x + step / 2} y={HEIGHT - 4} textAnchor={place === 0 ? "start" : "middle"} className="d">{labelOf(day, i18n.language)}</text> : null}
            </g>
          );
        })}
      </svg>
    </div>
  );
}

function DayTable({ days, queues, hours }: DaysProps) {
  const { t, i18n } = useTranslation();
  return (
    <div className="scroll">
      <table>
        <thead><tr><th>{t("teams.day")}</th><th className="r">{t("teams.all")}</th>{queues.map((queue) => <th key={queue} className="r">{queue}</th>)}</tr></thead>
        <tbody>
          {[...days].reverse().map((day) => (
            <tr key={day.day}>
              <td className="nw">{labelOf(day, i18n.language)}</td>
              <td className="r b"><Known value={day[hours]} format={hoursText} /></td>
              {queues.map((queue) => <td key={queue} className="r">{day[hours] == null ? <Known value={null} format={hoursText} /> : hoursText(day.queues.find((one) => one.queue === queue)?.[hours] ?? 0)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
