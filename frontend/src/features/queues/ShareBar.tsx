// One queue's share: booked, quota as a gate post, borrowed striped, waiting jobs behind the gate.
import { useTranslation } from "react-i18next";
import { count, decimal, percent } from "@/lib/format";
import { useWidth } from "@/lib/useWidth";
import { LevelMarks } from "@/ui/LevelBar";
import { axisTicks, type Share } from "./shares";

const HEIGHT = 34;
const ROOM_PERCENT = 2.5;
const LABEL_PX = 130;

/** Milli as devices or cores: whole from ten on. */
export function amount(milli: number): string {
  const value = milli / 1000;
  return value >= 10 || Number.isInteger(value) ? count(value) : decimal(value, 1);
}

export function ShareBar({ share, max }: { share: Share; max: number }) {
  const { t } = useTranslation();
  const [ref, width] = useWidth<HTMLDivElement>(900);
  const { queue, bookedPercent: booked, beyondMilli: beyond, borrowedMilli: borrowed } = share;
  const k = width / max;
  const quota = queue.quota_percent;
  const inside = quota == null ? booked : Math.min(booked, quota);
  const waiting = queue.pending > 0 ? ROOM_PERCENT : 0;
  const end = (value: number) => (value * k > LABEL_PX ? "end" : "start");
  return (
    <div ref={ref} style={{ minWidth: 0 }}>
      <svg width={width} height="82" viewBox={`0 -22 ${width} 82`} role="img" aria-label={t("queues.barLabel", {
        queue: queue.name, booked: percent(booked), quota: quota == null ? t("ui.none") : percent(quota), waiting: queue.pending,
      })}>
        {axisTicks(max).map((tick) => <path key={tick} className="ax" d={`M${tick * k} ${HEIGHT}v5`} />)}
        <LevelMarks width={width} height={HEIGHT} level={{ max, booked, quota, waiting }} />
        {quota == null ? null : (
          <text x={quota * k + (end(quota) === "end" ? -6 : 6)} y="-8" textAnchor={end(quota)}>
            {t("queues.quota")} <tspan className="k">{percent(quota, Number.isInteger(quota) ? 0 : 1)}</tspan>{share.capMilli == null ? "" : ` = ${amount(share.capMilli)}`}
          </text>
        )}
        <text x={Math.max(0, inside * k)} y={HEIGHT + 18} textAnchor={end(inside)}>
          {t("queues.booked")} <tspan className="k">{percent(booked)}</tspan> = {amount(share.bookedMilli)}
        </text>
        {beyond > 0 && quota != null ? (
          <text x={quota * k + 8} y={HEIGHT + 18} style={{ fill: "var(--water)", fontWeight: 600 }}>
            {t(borrowed > 0 ? "queues.borrowed" : "queues.above")} {percent(booked - quota)} = {amount(beyond)}
          </text>
        ) : null}
        {queue.pending > 0 ? (
          <text x={pastPost((booked + ROOM_PERCENT) * k + 8, quota == null ? null : quota * k, width)} y={HEIGHT / 2 + 4} style={HALO}><tspan className="k">{count(queue.pending)}</tspan> {t("queues.waiting")}</text>
        ) : null}
      </svg>
    </div>
  );
}

const WAITING_PX = 90;
// Readable also where a narrow bar leaves it no empty place.
const HALO = { paintOrder: "stroke", stroke: "var(--surface)", strokeWidth: 4, strokeLinejoin: "round" } as const;

/** Where the count of waiting jobs stands: behind the gate post where it would cross it. */
function pastPost(x: number, post: number | null, width: number): number {
  const clear = post != null && post > x - 4 && post < x + WAITING_PX ? post + 8 : x;
  return Math.min(width - WAITING_PX, clear);
}

export function ShareAxis({ max }: { max: number }) {
  const [ref, width] = useWidth<HTMLDivElement>(900);
  const k = width / max;
  const ticks = axisTicks(max);
  return (
    <div ref={ref} aria-hidden="true">
      <svg width={width} height="18">
        <path className="axs" d={`M0 .5H${width}`} />
        {ticks.map((tick, index) => (
          <g key={tick}>
            <path className="axs" d={`M${tick * k} 0v4`} />
            <text x={tick * k} y="16" className="d" textAnchor={index === 0 ? "start" : tick === max ? "end" : "middle"}>{index === ticks.length - 1 ? percent(tick, 0) : tick}</text>
          </g>
        ))}
      </svg>
    </div>
  );
}
