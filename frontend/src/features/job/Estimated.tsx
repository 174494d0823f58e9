// When a waiting job would start if nothing else came, what that is known from, and which jobs it waits for.
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { Estimate } from "@/api/types";
import { JobLink } from "@/features/nodes/JobLink";
import { duration, shortTime, dateTime, typeset } from "@/lib/format";
import { useNow } from "@/lib/useNow";
import { useWidth } from "@/lib/useWidth";
import { None } from "@/ui/Words";
import { axisOf } from "./estimate";

const HEIGHT = 52;
const FLOOR = 30;
const NAMED = 4;
const DAY_MS = 86_400_000;

interface EstimatedProps { estimate: Estimate | null; unknown: { text: string } | null }

export function Estimated({ estimate, unknown }: EstimatedProps) {
  const { t, i18n } = useTranslation();
  const now = useNow();
  if (!estimate) return <p className="mut">{unknown ? typeset(unknown.text) : t("job.estimate.none")}</p>;
  const at = Date.parse(estimate.at);
  const time = at - now < DAY_MS ? shortTime(estimate.at, i18n.language) : dateTime(estimate.at, i18n.language);
  const isDue = at <= now;
  return (
    <div className="estimate">
      <p><span className="fig">{time}</span> {estimate.is_earliest ? <span className="mut">{t("job.estimate.earliest")} </span> : null}<span className="mut">{isDue ? t("job.estimate.due") : t("job.estimate.in", { time: duration(Math.max(0, at - now)) })}</span></p>
      {isDue ? null : <Line at={at} now={now} />}
      <p className="sm mut">
        {t("job.estimate.on")} <Link to="/nodes/$id" params={{ id: estimate.node }}>{estimate.node_name}</Link>{t("job.estimate.basisOpen")}{t(`job.estimate.basis.${estimate.basis}`)}
      </p>
      <After jobs={estimate.after_jobs} />
    </div>
  );
}

/** The way from now to the start, with the hours between. */
function Line({ at, now }: { at: number; now: number }) {
  const { t, i18n } = useTranslation();
  const [ref, width] = useWidth<HTMLDivElement>(340);
  const axis = axisOf(now, at);
  const x = (ms: number) => 6 + ((ms - axis.from) / (axis.to - axis.from)) * (width - 12);
  return (
    <div ref={ref}>
      <svg width={width} height={HEIGHT} role="img" aria-label={t("job.estimate.line", { time: duration(at - now) })}>
        <rect x={x(now)} y={FLOOR - 12} width={x(at) - x(now)} height="12" fill="none" stroke="var(--ink-3)" strokeDasharray="3 2.500" />
        <path className="axs" d={`M0 ${FLOOR + 0.5}H${width}`} />
        {axis.ticks.map((tick) => (
          <g key={tick}>
            <path d={`M${x(tick)} ${FLOOR}v4`} stroke="var(--ink-3)" />
            <text x={x(tick)} y={FLOOR + 17} textAnchor={x(tick) < 24 ? "start" : x(tick) > width - 24 ? "end" : "middle"} className="d">{shortTime(new Date(tick), i18n.language)}</text>
          </g>
        ))}
        <circle cx={x(now)} cy={FLOOR} r="4.5" fill="var(--signal)" />
        <path d={`M${x(at)} ${FLOOR - 20}V${FLOOR + 5}`} stroke="var(--water)" strokeWidth="3" />
      </svg>
    </div>
  );
}

/** The jobs whose ends it waits for; those of other teams are not named by the server. */
function After({ jobs }: { jobs: Estimate["after_jobs"] }) {
  const { t } = useTranslation();
  return (
    <p className="sm after">
      <span className="mut">{t("job.estimate.after", { count: jobs.length })}</span>{" "}
      {jobs.length === 0 ? <None /> : jobs.slice(0, NAMED).map(({ job, name }, index) => (
        <span key={job}>{index > 0 ? t("job.comma") : ""}<JobLink id={job} name={name} /></span>
      ))}
      {jobs.length > NAMED ? ` ${t("job.estimate.more", { count: jobs.length - NAMED })}` : null}
    </p>
  );
}
