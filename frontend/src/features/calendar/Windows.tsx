// Valley windows, peak hours and caps on power as rows over one axis of time, and the windows in words.
import { useTranslation } from "react-i18next";
import type { Calendar, Window } from "@/api/calendar";
import { dateTime, dayLabel, power, shortTime } from "@/lib/format";
import { useWidth } from "@/lib/useWidth";
import { isDaily, timeTicks } from "@/ui/chart/ticks";
import { pieces } from "./spans";

const ROW = 30;
const BAR = 14;
const LEFT = 120;
const RIGHT = 8;
const TICK_ROOM_PX = 66;
const LISTED = 8;

export function Windows({ calendar }: { calendar: Calendar }) {
  const { t } = useTranslation();
  const caps = calendar.power.filter((one) => one.cap_w !== null);
  const rows = [
    { name: t("calendar.valleys"), windows: calendar.valleys, fill: "var(--cat-2)", title: "" },
    { name: t("calendar.peaks"), windows: calendar.peaks, fill: "var(--booked)", title: "" },
    ...(caps.length > 0 ? [{ name: t("calendar.power"), windows: caps, fill: "url(#hatch-water)", title: power(caps[0]?.cap_w ?? 0) }] : []),
  ];
  return (
    <>
      <Rows calendar={calendar} rows={rows} />
      {calendar.valleys.length === 0 ? <p className="mut">{t("calendar.neverOpen")}</p> : <Listed windows={calendar.valleys} />}
    </>
  );
}

interface Row { name: string; windows: readonly Window[]; fill: string; title: string }

function Rows({ calendar, rows }: { calendar: Calendar; rows: readonly Row[] }) {
  const { t, i18n } = useTranslation();
  const [ref, width] = useWidth<HTMLDivElement>(900);
  const axis = { from: Date.parse(calendar.begins_at), to: Date.parse(calendar.ends_at) };
  const room = width - LEFT - RIGHT;
  const floor = rows.length * ROW;
  const { at, stepMs } = timeTicks(axis.from, axis.to, Math.max(2, Math.floor(room / TICK_ROOM_PX)));
  const span = (opens: string, closes: string) => t("calendar.window", { from: dateTime(opens, i18n.language), to: dateTime(closes, i18n.language) });
  return (
    <div ref={ref}>
      <svg width={width} height={floor + 24} role="img" aria-label={rows.map((row) => `${row.name}: ${row.windows.length === 0 ? t("ui.none") : row.windows.slice(0, LISTED).map((one) => span(one.opens_at, one.closes_at)).join("; ")}`).join(". ")}>
        {at.map((ms) => {
          const x = LEFT + ((ms - axis.from) / (axis.to - axis.from)) * room;
          return <g key={ms}><path d={`M${x} 0V${floor}`} className="ax" /><text x={x} y={floor + 16} textAnchor="middle" className="d">{isDaily(stepMs) ? dayLabel(new Date(ms), i18n.language) : shortTime(new Date(ms), i18n.language)}</text></g>;
        })}
        {rows.map((row, place) => (
          <g key={row.name}>
            <text x="0" y={place * ROW + BAR + 5}>{row.name} {row.title ? <tspan className="k">{row.title}</tspan> : null}</text>
            <rect x={LEFT} y={place * ROW + 6} width={room} height={BAR} fill="var(--track)" />
            {pieces(row.windows, axis).map((piece) => <rect key={piece.opens} x={LEFT + piece.from * room} y={place * ROW + 6} width={(piece.to - piece.from) * room} height={BAR} fill={row.fill}><title>{span(piece.opens, piece.closes)}</title></rect>)}
          </g>
        ))}
        <path className="axs" d={`M${LEFT} ${floor + 0.5}H${width - RIGHT}`} />
      </svg>
    </div>
  );
}

function Listed({ windows }: { windows: readonly Window[] }) {
  const { t, i18n } = useTranslation();
  return (
    <p className="sm mut">
      {t("calendar.openAt")} {windows.slice(0, LISTED).map((one) => `${dateTime(one.opens_at, i18n.language)} – ${dateTime(one.closes_at, i18n.language)}`).join(" · ")}
      {windows.length > LISTED ? ` ${t("calendar.more", { count: windows.length - LISTED })}` : null}
    </p>
  );
}
