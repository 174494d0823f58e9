// The rows of the job table.
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { cancelJob } from "@/api/actions";
import { keys } from "@/api/keys";
import type { Job } from "@/api/types";
import { dateTime, duration, typeset } from "@/lib/format";
import { useNow } from "@/lib/useNow";
import { Confirm } from "@/ui/Dialog";
import { JobTag } from "@/ui/JobTag";
import { None } from "@/ui/Words";
import { BulkBar } from "@/features/acting/BulkBar";
import { isFinal, isWaiting, span } from "@/features/job/facts";
import { outcomeKey } from "@/features/job/Outcome";

export function JobTable({ jobs }: { jobs: readonly Job[] }) {
  const { t, i18n } = useTranslation();
  const now = useNow();
  const [cancelling, setCancelling] = useState<Job | null>(null);
  const [chosen, setChosen] = useState<ReadonlySet<number>>(new Set());
  const live = jobs.filter((job) => !isFinal(job));
  const picked = live.filter((job) => chosen.has(job.id));
  const choose = (ids: readonly number[], on: boolean) => setChosen((before) => new Set(on ? [...before, ...ids] : [...before].filter((id) => !ids.includes(id))));
  return (
    <>
    {picked.length > 0 ? <BulkBar jobs={picked} onClear={() => setChosen(new Set())} /> : null}
    <div className="scroll">
      <table className="jobs">
        <thead>
          <tr>
            <th>{live.length > 0 ? <input type="checkbox" aria-label={t("acting.chooseAll")} checked={picked.length === live.length} onChange={(event) => choose(live.map((job) => job.id), event.target.checked)} /> : null}</th>
            <th>{t("jobs.job")}</th><th>{t("jobs.status")}</th><th className="r">{t("jobs.time")}</th><th>{t("jobs.queue")}</th>
            <th>{t("jobs.owner")}</th><th>{t("jobs.asks")}</th><th>{t("jobs.whereOrWhy")}</th><th className="r">{t("jobs.submitted")}</th><th />
          </tr>
        </thead>
        <tbody>
          {jobs.map((job) => (
            <tr key={job.id} className="go">
              <td>{isFinal(job) ? null : <input type="checkbox" aria-label={t("acting.choose", { job: job.name || `#${job.id}` })} checked={chosen.has(job.id)} onChange={(event) => choose([job.id], event.target.checked)} />}</td>
              <td className="name">
                <Link to="/jobs/$id" params={{ id: job.id }} className="med">{job.name || `#${job.id}`}</Link>
                <span className="dim xs"> {job.id}</span>
              </td>
              <td><JobTag status={job.status} /></td>
              <td className="r nw">{spanText(job, now)}</td>
              <td className="nw"><Link to="/jobs" search={{ queue: job.queue }}>{job.queue}</Link></td>
              <td className="nw">
                <Link to="/jobs" search={{ owner: job.owner }}>{job.owner}</Link>
                {job.team ? <span className="dim"> · {job.team}</span> : null}
              </td>
              <td className="nw"><ShortAsk job={job} /></td>
              <td className="where mut"><Where job={job} /></td>
              <td className="r nw dim">{dateTime(job.submitted_at, i18n.language)}</td>
              <td className="r">
                {isFinal(job) || job.intent === "cancel" ? null : (
                  <button type="button" className="icb" aria-label={t("jobs.cancelOne", { job: job.name || `#${job.id}` })} title={t("job.cancel")} onClick={() => setCancelling(job)}>×</button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {cancelling ? <CancelOne job={cancelling} onClose={() => setCancelling(null)} /> : null}
    </div>
    </>
  );
}

function spanText(job: Job, now: number) {
  const time = span(job, now);
  return time == null ? <None /> : duration(time);
}

/** Devices and cores as the table has room for. */
function ShortAsk({ job }: { job: Job }) {
  const { t } = useTranslation();
  const { devices = 0, device_models: models = [], cores = 1 } = job.spec.resources ?? {};
  const ofCores = t("job.asksCores", { count: cores });
  const each = (job.spec.replicas ?? 1) > 1 ? <span className="dim">{job.spec.replicas} × </span> : null;
  if (devices === 0) return <>{each}{ofCores}</>;
  return <>{each}{devices} × {models.length > 0 ? models.join(" | ") : t("job.anyModel")} <span className="dim">· {ofCores}</span></>;
}

function Where({ job }: { job: Job }) {
  const { t } = useTranslation();
  if (isWaiting(job)) return <>{job.reason ? typeset(job.reason.text) : t("jobs.notDecided")}</>;
  const node = job.node ? <Link to="/nodes/$id" params={{ id: job.node.id }}>{job.node.name}</Link> : null;
  if (job.status !== "failed") return node ?? <None />;
  const values = { code: job.exit_code, signal: job.exit_signal, defaultValue: job.exit_class ?? "" };
  return <>{node} {node ? "· " : ""}<span className="crit">{t(`jobs.ended.${outcomeKey(job)}`, values)}</span></>;
}

function CancelOne({ job, onClose }: { job: Job; onClose: () => void }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const cancel = async () => {
    await cancelJob(job.id);
    await queries.invalidateQueries({ queryKey: keys.jobs() });
  };
  return (
    <Confirm title={t("job.cancelTitle", { job: job.name || `#${job.id}` })} action={t("job.cancelIt")} harm call={`POST /api/v1/jobs/${job.id}/cancel`} onConfirm={cancel} onClose={onClose}>
      {t(job.node ? "job.cancelRunning" : "job.cancelWaiting", { node: job.node?.name, owner: job.owner })}
    </Confirm>
  );
}
