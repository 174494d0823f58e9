// Edits the caps of a queue: first what would follow, then a new version of the policy with its reason.
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { type CapsWish, capsCall, foretellCaps, setCaps } from "@/api/quotas";
import type { Queue } from "@/api/types";
import { Dialog } from "@/ui/Dialog";
import { capsText, readCaps, readPercent } from "./caps";
import { Foretell } from "./Foretell";

const MOST_LETTERS = 500;

export function EditCaps({ queue, onClose }: { queue: Queue; onClose: () => void }) {
  const { t } = useTranslation();
  const [quota, setQuota] = useState(queue.quota_percent == null ? "" : String(queue.quota_percent));
  const [models, setModels] = useState(capsText(queue.model_caps));
  const [borrow, setBorrow] = useState(queue.borrow);
  const [reason, setReason] = useState("");
  const percent = quota.trim() === "" ? undefined : readPercent(quota);
  const modelCaps = readCaps(models);
  const caps = changed(queue, { quota_percent: percent === undefined ? null : percent, model_caps: modelCaps, borrow });
  const isRead = percent !== null && modelCaps !== null;
  const wish: CapsWish | null = isRead && Object.keys(caps).length > 0 ? { queue: queue.name, caps, reason: reason.trim() } : null;
  return (
    <Dialog title={t("quotas.editCaps", { queue: queue.name })} onClose={onClose}>
      <div style={{ display: "grid", gap: 10 }}>
        <label style={{ display: "grid", gap: 4 }}>
          <span className="sm mut">{t("quotas.capPercent")}</span>
          <input className="field" inputMode="decimal" value={quota} placeholder={t("quotas.noCap")} aria-invalid={percent === null} onChange={(event) => setQuota(event.target.value)} />
        </label>
        <label style={{ display: "grid", gap: 4 }}>
          <span className="sm mut">{t("quotas.modelCaps")}</span>
          <textarea className="field" style={{ height: 62, padding: "5px 9px" }} value={models} placeholder="nvidia-a100 50 %" aria-invalid={modelCaps === null} onChange={(event) => setModels(event.target.value)} />
        </label>
        {queue.preemptable ? (
          <label className="row"><input type="checkbox" checked={borrow} onChange={(event) => setBorrow(event.target.checked)} />{t("quotas.borrow")}</label>
        ) : <p className="sm mut">{t("quotas.neverBorrows")}</p>}
        <label style={{ display: "grid", gap: 4 }}>
          <span className="sm mut">{t("quotas.reason")}</span>
          <input className="field" value={reason} maxLength={MOST_LETTERS} onChange={(event) => setReason(event.target.value)} />
        </label>
      </div>
      <Foretell wish={wish} ready={reason.trim() !== ""} callOf={capsCall} foretell={foretellCaps} save={setCaps} onClose={onClose} />
    </Dialog>
  );
}

interface Written { quota_percent: number | null; model_caps: Record<string, number> | null; borrow: boolean }

/** What differs from the queue as it is: the rest is left alone, so that two edits of different caps do not undo each other. */
function changed(queue: Queue, { quota_percent, model_caps, borrow }: Written): CapsWish["caps"] {
  return {
    ...(quota_percent === queue.quota_percent ? {} : { quota_percent }),
    ...(model_caps === null || capsText(model_caps) === capsText(queue.model_caps) ? {} : { model_caps }),
    ...(borrow === queue.borrow ? {} : { borrow }),
  };
}
