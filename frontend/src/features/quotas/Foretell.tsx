// The lower half of a dialog that edits quotas: what would follow has to be looked at before it can be set.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { keys } from "@/api/keys";
import { asProblem } from "@/api/problem";
import type { Change, Consequences } from "@/api/quotas";
import { JobLink } from "@/features/nodes/JobLink";
import { devices } from "./amounts";

interface ForetellProps<Wish> {
  /** Null while what is written is not complete. */
  wish: Wish | null;
  /** Whether it may be set, once its consequence was seen. */
  ready?: boolean;
  callOf: (wish: Wish) => Change;
  foretell: (wish: Wish) => Promise<Consequences>;
  save: (wish: Wish) => Promise<unknown>;
  /** Takes away what is there now. */
  drop?: (() => Promise<unknown>) | undefined;
  onClose: () => void;
}

export function Foretell<Wish>({ wish, ready = true, callOf, foretell, save, drop, onClose }: ForetellProps<Wish>) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const [told, setTold] = useState<{ of: string; found: Consequences } | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const of = JSON.stringify(wish);
  const attempt = async (work: () => Promise<unknown>) => {
    setBusy(true);
    setError(null);
    await work().catch(setError);
    setBusy(false);
  };
  const change = (work: () => Promise<unknown>) => attempt(async () => {
    await work();
    await queries.invalidateQueries({ queryKey: keys.queues });
    await queries.invalidateQueries({ queryKey: keys.policies("active").slice(0, 1) });
    onClose();
  });
  const seen = told !== null && told.of === of;
  const call = wish === null ? null : callOf(wish);
  return (
    <>
      {seen ? <Foretold found={told.found} /> : null}
      {call ? <pre className="code wrapped" style={{ marginTop: 12 }}>{`${call.method} ${call.path} ${JSON.stringify(call.body)}`}</pre> : null}
      {error ? <Refused error={error} /> : null}
      <div className="row wrap" style={{ marginTop: 14, justifyContent: "flex-end" }}>
        {drop ? <button type="button" className="btn" style={{ marginRight: "auto" }} disabled={busy} onClick={() => void change(drop)}>{t("quotas.drop")}</button> : null}
        <button type="button" className="btn" onClick={onClose}>{t("ui.leaveIt")}</button>
        <button type="button" className={seen ? "btn" : "btn pri"} disabled={busy || wish === null} onClick={() => void attempt(async () => { if (wish !== null) setTold({ of, found: await foretell(wish) }); })}>{t("quotas.preview")}</button>
        <button type="button" className={seen ? "btn pri" : "btn"} disabled={busy || !seen || !ready} onClick={() => void change(async () => { if (wish !== null) await save(wish); })}>{t("quotas.set")}</button>
      </div>
    </>
  );
}

function Refused({ error }: { error: unknown }) {
  const problem = asProblem(error);
  return (
    <div className="broken" role="alert" style={{ marginTop: 12 }}>
      {problem.message}
      {problem.errors.map((one) => <div key={one.field} className="sm">{one.field}: {one.message}</div>)}
    </div>
  );
}

const NAMED = 5;

function Foretold({ found }: { found: Consequences }) {
  const { t } = useTranslation();
  return (
    <div className="note" role="status" style={{ marginTop: 12 }}>
      {found.over.length === 0 ? <p>{t("quotas.nobodyOver")}</p> : (
        <ul>{found.over.map((one) => <li key={`${one.kind} ${one.queue} ${one.team} ${one.owner} ${one.model} ${one.unit}`}>{t(`quotas.over.${one.unit}`, { who: one.owner ?? one.team ?? one.queue, model: one.model ?? "", held: devices(one.held_milli), cap: devices(one.cap_milli) })}</li>)}</ul>
      )}
      <p>{t("quotas.starts", { count: found.starts_total })} <Jobs jobs={found.starts} total={found.starts_total} /></p>
      <p>{t("quotas.waits", { count: found.waits_total })} <Jobs jobs={found.waits} total={found.waits_total} /></p>
    </div>
  );
}

function Jobs({ jobs, total }: { jobs: Consequences["starts"]; total: number }) {
  const { t } = useTranslation();
  const shown = jobs.slice(0, NAMED);
  return (
    <span className="sm">
      {shown.map(({ job, name }, index) => <span key={job}>{index > 0 ? t("job.comma") : ""}<JobLink id={job} name={name} /></span>)}
      {total > shown.length && shown.length > 0 ? ` ${t("job.estimate.more", { count: total - shown.length })}` : null}
    </span>
  );
}
