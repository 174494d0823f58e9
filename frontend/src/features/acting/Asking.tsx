// Asks before something is done to one or many jobs, and says afterwards which of them were refused.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { actOnJobs, type JobAct, type Outcome } from "@/api/acting";
import { keys } from "@/api/keys";
import { asProblem } from "@/api/problem";
import type { Job } from "@/api/types";
import { Dialog } from "@/ui/Dialog";
import { readPriority } from "./acts";

const NAMED = 6;

interface Props { act: JobAct; jobs: readonly Job[]; onClose: () => void; onDone?: () => void }

export function Asking({ act, jobs, onClose, onDone }: Props) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const [busy, setBusy] = useState(false);
  const [priority, setPriority] = useState(String(jobs[0]?.priority ?? 0));
  const [loseWork, setLoseWork] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [refused, setRefused] = useState<Outcome[] | null>(null);
  const stops = act === "requeue" || act === "suspend";
  const value = readPriority(priority);
  const call = { action: act, jobs: jobs.map((job) => job.id), ...(act === "reprioritise" ? { priority: value ?? 0 } : {}), ...(stops ? { lose_work: loseWork } : {}) };
  const perform = async () => {
    setBusy(true);
    try {
      const outcomes = await actOnJobs(call);
      await queries.invalidateQueries({ queryKey: keys.jobs() });
      for (const job of jobs) await queries.invalidateQueries({ queryKey: keys.job(job.id) });
      onDone?.();
      const problems = outcomes.filter((outcome) => outcome.code);
      if (problems.length === 0) onClose();
      else setRefused(problems);
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  const title = t(`acting.title.${act}`, { count: jobs.length, job: jobs[0]?.name || `#${jobs[0]?.id}` });
  if (refused) return <Dialog title={title} onClose={onClose}><Refused outcomes={refused} total={jobs.length} /></Dialog>;
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="mut">{t(`acting.effect.${act}`)}</div>
      {jobs.length > 1 ? <p className="sm">{jobs.slice(0, NAMED).map((job) => job.name || `#${job.id}`).join(", ")}{jobs.length > NAMED ? ` ${t("acting.more", { count: jobs.length - NAMED })}` : ""}</p> : null}
      {act === "reprioritise" ? (
        <label style={{ display: "grid", gap: 4, marginTop: 12 }}>
          <span className="sm mut">{t("acting.priority")}</span>
          <input className="field" inputMode="numeric" value={priority} aria-invalid={value === null} onChange={(event) => setPriority(event.target.value)} />
        </label>
      ) : null}
      {stops ? (
        <label className="row" style={{ gap: 8, marginTop: 12 }}>
          <input type="checkbox" checked={loseWork} onChange={(event) => setLoseWork(event.target.checked)} />
          <span>{t("acting.loseWork")}</span>
        </label>
      ) : null}
      <pre className="code wrapped" style={{ marginTop: 12 }}>{`POST /api/v1/jobs/bulk ${JSON.stringify(call)}`}</pre>
      {error ? <div className="broken" role="alert" style={{ marginTop: 12 }}>{asProblem(error).message}</div> : null}
      <div className="row" style={{ marginTop: 14, justifyContent: "flex-end" }}>
        <button type="button" className="btn" onClick={onClose}>{t("ui.leaveIt")}</button>
        <button type="button" className={act === "cancel" ? "btn harm" : "btn pri"} disabled={busy || (act === "reprioritise" && value === null)} onClick={() => void perform()}>{t(`acting.do.${act}`)}</button>
      </div>
    </Dialog>
  );
}

function Refused({ outcomes, total }: { outcomes: readonly Outcome[]; total: number }) {
  const { t } = useTranslation();
  return (
    <div role="alert">
      <p>{t("acting.refused", { count: outcomes.length, total })}</p>
      <ul>{outcomes.map((outcome) => <li key={outcome.job}>#{outcome.job}: {outcome.text}</li>)}</ul>
    </div>
  );
}
