// Enrolling a node: a one-time token, shown once inside the exact command.
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { createEnrolmentToken } from "@/api/actions";
import { asProblem, type Problem } from "@/api/problem";
import type { EnrolmentToken } from "@/api/types";
import { dateTime } from "@/lib/format";
import { Copyable } from "@/ui/ApiCall";
import { Dialog } from "@/ui/Dialog";

const HOURS = [1, 24, 168];

export function EnrolDialog({ onClose }: { onClose: () => void }) {
  const { t, i18n } = useTranslation();
  const [nodeSet, setNodeSet] = useState("");
  const [hours, setHours] = useState(24);
  const [made, setMade] = useState<EnrolmentToken | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const make = () => {
    setBusy(true);
    createEnrolmentToken({ ...(nodeSet.trim() ? { node_set: nodeSet.trim() } : {}), expires_in_hours: hours })
      .then(setMade, (error: unknown) => setProblem(asProblem(error)))
      .finally(() => setBusy(false));
  };
  return (
    <Dialog title={t("inventory.enrol")} onClose={onClose}>
      {made ? (
        <>
          <p style={{ marginBottom: 8 }}>{t("inventory.runThis")}</p>
          <Copyable text={made.command} />
          <p className="sm sig" style={{ marginTop: 8 }}>{t("inventory.shownOnce", { until: dateTime(made.expires_at, i18n.language) })}</p>
          <div className="row" style={{ marginTop: 14, justifyContent: "flex-end" }}><button type="button" className="btn pri" onClick={onClose}>{t("inventory.done")}</button></div>
        </>
      ) : (
        <form onSubmit={(event) => { event.preventDefault(); make(); }} style={{ display: "grid", gap: 12 }}>
          <p className="mut">{t("inventory.enrolWhat")}</p>
          <label style={{ display: "grid", gap: 4 }}>
            <span className="sm mut">{t("inventory.nodeSetOptional")}</span>
            <input className="field" value={nodeSet} maxLength={100} onChange={(event) => setNodeSet(event.target.value)} />
          </label>
          <label style={{ display: "grid", gap: 4 }}>
            <span className="sm mut">{t("inventory.validFor")}</span>
            <select className="field" value={hours} onChange={(event) => setHours(Number(event.target.value))}>
              {HOURS.map((value) => <option key={value} value={value}>{t("inventory.hours", { count: value })}</option>)}
            </select>
          </label>
          {problem ? <div className="broken" role="alert">{problem.fieldMessage("node_set") ?? problem.message}</div> : null}
          <div className="row" style={{ justifyContent: "flex-end" }}>
            <button type="button" className="btn" onClick={onClose}>{t("ui.leaveIt")}</button>
            <button type="submit" className="btn pri" disabled={busy}>{t("inventory.makeToken")}</button>
          </div>
        </form>
      )}
    </Dialog>
  );
}
