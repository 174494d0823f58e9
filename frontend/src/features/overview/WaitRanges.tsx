// Waits per queue on a log scale: dot P50, bar to P95, ring P99.
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { Overview } from "@/api/types";
import { count, seconds, shortDuration } from "@/lib/format";
import { placeLabels } from "./labels";
import { usePhone } from "@/lib/usePhone";
import { useWidth } from "@/lib/useWidth";

const ROW = 44;
const FIRST = 34;
const LABELS = 86;
/** Room of the count of waiting jobs at the end of a line. */
const WAITING_PX = 62;
const TICKS = [0.1, 1, 10, 60, 600, 3600, 43_200, 604_800];

type Line = Overview["queues"][number];

export function logScale(values: readonly number[]): { min: number; max: number; ticks: number[] } {
  const known = values.filter((value) => value > 0);
  const low = Math.min(...known, 1);
  const high = Math.max(...known, 60);
  const min = [...TICKS].reverse().find((tick) => tick <= low) ?? (TICKS[0] as number);
  const max = TICKS.find((tick) => tick >= high) ?? high;
  return { min, max, ticks: TICKS.filter((tick) => tick >= min && tick <= max) };
}

export function WaitRanges({ queues }: { queues: readonly Line[] }) {
  const { t } = useTranslation();
  const phone = usePhone();
  const [ref, width] = useWidth<HTMLDivElement>(560);
  const height = FIRST + queues.length * ROW - 10;
  const { min, max, ticks } = logScale(queues.flatMap(({ wait_s: w }) => [w.p50, w.p95, w.p99].filter((value) => value != null)));
  const room = width - LABELS - (phone ? 84 : 104);
  const spaced = ticks.filter((_tick, index) => !phone || index % 2 === 0 || index === ticks.length - 1);
  const x = (value: number) => LABELS + (Math.log(Math.max(min, value) / min) / Math.log(max / min)) * room;
  return (
    <div ref={ref} style={{ position: "relative" }}>
      <svg width={width} height={height + 18} role="img" aria-label={queues.map((queue) => label(queue, t)).join("; ")}>
        {ticks.map((tick) => (
          <g key={tick}>
            <path className="ax" d={`M${Math.round(x(tick)) + 0.5} 8V${height}`} />
            {spaced.includes(tick) ? <text x={x(tick)} y={height + 15} className="d" textAnchor="middle">{shortDuration(tick * 1000)}</text> : null}
          </g>
        ))}
        {queues.map((queue, index) => <Range key={queue.name} queue={queue} y={FIRST + index * ROW} x={x} width={width} />)}
      </svg>
      <div className="visually-hidden"><table>
        <tbody>{queues.map((queue) => <tr key={queue.name}><th>{queue.name}</th><td>{label(queue, t)}</td><td><Link to="/jobs" search={{ queue: queue.name, status: "pending" }}>{t("overview.waitingJobs", { queue: queue.name })}</Link></td></tr>)}</tbody>
      </table></div>
    </div>
  );
}

function label({ name, pending, wait_s: wait }: Line, t: ReturnType<typeof useTranslation>["t"]): string {
  const word = (value: number | null) => (value == null ? t("ui.unknown") : seconds(value));
  return t("overview.waitLabel", { queue: name, p50: word(wait.p50), p95: word(wait.p95), p99: word(wait.p99), count: pending });
}

function Range({ queue, y, x, width }: { queue: Line; y: number; x: (value: number) => number; width: number }) {
  const { t } = useTranslation();
  const { p50, p95, p99 } = queue.wait_s;
  return (
    <>
      <a href={`/jobs?queue=${encodeURIComponent(queue.name)}`}><text y={y + 4} className="k" style={{ fontSize: 13 }}>{queue.name}</text></a>
      {p50 == null || p95 == null || p99 == null ? (
        <text x={x(0)} y={y + 4} className="d h">{t("overview.noStarts")}</text>
      ) : (
        <Marks p50={p50} p95={p95} p99={p99} y={y} x={x} right={width - WAITING_PX} />
      )}
      <text x={width} y={y + 4} textAnchor="end"><tspan className="k" style={{ fontSize: 13 }}>{count(queue.pending)}</tspan> {t("overview.waiting")}</text>
    </>
  );
}

function Marks({ p50, p95, p99, y, x, right }: { p50: number; p95: number; p99: number; y: number; x: (value: number) => number; right: number }) {
  const labels = placeLabels([p50, p95, p99].map((value) => ({ text: seconds(value), x: x(value), strong: value === p95 })), right);
  return (
    <>
      <path d={`M${x(p50)} ${y}H${x(p99)}`} stroke="var(--booked-edge)" strokeWidth="1.5" />
      <path d={`M${x(p50)} ${y}H${x(p95)}`} stroke="var(--water)" strokeWidth="5" />
      <circle cx={x(p50)} cy={y} r="4.5" fill="var(--water)" />
      <path d={`M${x(p95)} ${y - 7}v14`} stroke="var(--water)" strokeWidth="2.5" />
      <circle cx={x(p99)} cy={y} r="4" fill="var(--surface)" stroke="var(--booked-edge)" strokeWidth="1.5" />
      {labels.map((label) => <text key={label.text} className={label.strong ? "k h" : "h"} x={label.x} y={y - 10} textAnchor="middle">{label.text}</text>)}
    </>
  );
}
