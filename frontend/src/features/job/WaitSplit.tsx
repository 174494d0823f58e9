// Where the waiting time went: held, pending, image pull, start.
import { useTranslation } from "react-i18next";
import type { Job } from "@/api/types";
import { duration } from "@/lib/format";
import { useNow } from "@/lib/useNow";
import { type Wait, type WaitPart, waits } from "./facts";

const FILLS: Record<WaitPart, string> = { held: "--load-2", pending: "--booked-edge", image_pull: "--load-6", start: "--load-8" };
const WIDTH = 380;

export function WaitSplit({ job }: { job: Job }) {
  const { t } = useTranslation();
  const now = useNow();
  const list = waits(job, now);
  const total = list.reduce((sum, wait) => sum + (wait.ms ?? 0), 0);
  return (
    <>
      <svg width="100%" height="12" viewBox={`0 0 ${WIDTH} 12`} preserveAspectRatio="none" aria-hidden="true">
        <rect width={WIDTH} height="12" fill="var(--track)" />
        <Parts list={list} total={total} />
      </svg>
      <div className="sm" style={{ display: "grid", gridTemplateColumns: "repeat(4,auto)", gap: "0 14px", marginTop: 6 }}>
        {list.map(({ part, ms }) => (
          <span key={part} className="mut">
            <svg width="8" height="8" style={{ display: "inline-block", marginRight: 5 }} aria-hidden="true"><rect width="8" height="8" fill={`var(${FILLS[part]})`} /></svg>
            {t(`job.wait.${part}`)}
            <br />
            {ms == null ? <span className="dim">{t(job.started_at ? "job.noSuchWait" : "job.notYet")}</span> : <b>{duration(ms)}</b>}
          </span>
        ))}
      </div>
    </>
  );
}

function Parts({ list, total }: { list: readonly Wait[]; total: number }) {
  const width = (waits: readonly Wait[]) => (total > 0 ? (waits.reduce((sum, wait) => sum + (wait.ms ?? 0), 0) / total) * WIDTH : 0);
  return list.map((wait, index) =>
    wait.ms ? <rect key={wait.part} x={width(list.slice(0, index))} width={Math.max(1, width([wait]) - 1)} height="12" fill={`var(${FILLS[wait.part]})`} /> : null,
  );
}
