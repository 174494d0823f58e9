// Sets what a team or a member may hold: first what would follow, then the change.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { keys } from "@/api/keys";
import { asProblem } from "@/api/problem";
import { type Amount, callOf, type Consequences, foretell, setAmount } from "@/api/quotas";
import { Dialog } from "@/ui/Dialog";
import { devices, readDevices } from "./amounts";

export function EditAmount({ amount, onClose }: { amount: Amount; onClose: () => void }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const { quota, username } = amount;
  const now = username ? (quota.shares.find((share) => share.username === username)?.share_milli ?? quota.quota_milli) : quota.quota_milli;
  const [text, setText] = useState(devices(now));
  const [told, setTold] = useState<{ milli: number; found: Consequences } | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const milli = readDevices(text);
  const attempt = async (work: () => Promise<void>) => {
    setBusy(true);
    setError(null);
    await work().catch(setError);
    setBusy(false);
  };
  const preview = () => attempt(async () => {
    if (milli !== null) setTold({ milli, found: await foretell(amount, milli) });
  });
  const save = () => attempt(async () => {
    if (milli === null) return;
    await setAmount(amount, milli);
    await queries.invalidateQueries({ queryKey: keys.queues });
    onClose();
  });
  const seen = told !== null && told.milli === milli;
  const call = milli === null ? null : callOf(amount, milli);
  return (
    <Dialog title={t(username ? "quotas.editShare" : "quotas.editQuota", { team: quota.team, queue: quota.queue, username })} onClose={onClose}>
      <label style={{ display: "grid", gap: 4 }}>
        <span className="sm mut">{t("quotas.devices", { model: quota.model ?? t("quotas.allModels") })}</span>
        <input className="field" inputMode="decimal" value={text} aria-invalid={milli === null} onChange={(event) => setText(event.target.value)} />
      </label>
      {seen ? <Foretold found={told.found} /> : null}
      {call ? <pre className="code wrapped" style={{ marginTop: 12 }}>{`${call.method} ${call.path} ${JSON.stringify(call.body)}`}</pre> : null}
      {error ? <div className="broken" role="alert" style={{ marginTop: 12 }}>{asProblem(error).message}</div> : null}
      <div className="row" style={{ marginTop: 14, justifyContent: "flex-end" }}>
        <button type="button" className="btn" onClick={onClose}>{t("ui.leaveIt")}</button>
        <button type="button" className={seen ? "btn" : "btn pri"} disabled={busy || milli === null} onClick={() => void preview()}>{t("quotas.preview")}</button>
        <button type="button" className={seen ? "btn pri" : "btn"} disabled={busy || !seen} onClick={() => void save()}>{t("quotas.set")}</button>
      </div>
    </Dialog>
  );
}

function Foretold({ found }: { found: Consequences }) {
  const { t } = useTranslation();
  return (
    <div className="note" role="status" style={{ marginTop: 12 }}>
      {found.over.length === 0 ? <p>{t("quotas.nobodyOver")}</p> : (
        <ul>{found.over.map((one) => <li key={`${one.kind} ${one.queue} ${one.team} ${one.owner} ${one.model}`}>{t("quotas.over", { who: one.owner ?? one.team ?? one.queue, held: devices(one.held_milli), cap: devices(one.cap_milli) })}</li>)}</ul>
      )}
      <p>{t("quotas.starts", { count: found.starts_total })} {t("quotas.waits", { count: found.waits_total })}</p>
    </div>
  );
}
