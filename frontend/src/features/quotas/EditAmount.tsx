// Sets what a team or a member may hold: first what would follow, then the change.
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { type Amount, amountCall, dropAmount, foretellAmount, setAmount } from "@/api/quotas";
import { Dialog } from "@/ui/Dialog";
import { devices, readDevices } from "./amounts";
import { Foretell } from "./Foretell";

export function EditAmount({ amount, onClose }: { amount: Amount; onClose: () => void }) {
  const { t } = useTranslation();
  const { quota, username } = amount;
  const share = quota.shares?.find((one) => one.username === username);
  const now = share?.share_milli ?? quota.quota_milli;
  const [text, setText] = useState(now === undefined ? "" : devices(now));
  const milli = readDevices(text);
  const isThere = username ? share !== undefined : quota.id !== undefined;
  return (
    <Dialog title={t(username ? "quotas.editShare" : "quotas.editQuota", { team: quota.team, queue: quota.queue, username })} onClose={onClose}>
      <AmountField model={quota.model} text={text} onChange={setText} />
      <Foretell
        wish={milli === null ? null : { ...amount, milli }} callOf={amountCall} foretell={foretellAmount} save={setAmount}
        drop={isThere ? () => dropAmount(amount) : undefined} onClose={onClose}
      />
    </Dialog>
  );
}

export function AmountField({ model, text, onChange }: { model: string | null; text: string; onChange: (text: string) => void }) {
  const { t } = useTranslation();
  return (
    <label style={{ display: "grid", gap: 4 }}>
      <span className="sm mut">{t("quotas.devices", { model: model ?? t("quotas.allModels") })}</span>
      <input className="field" inputMode="decimal" value={text} aria-invalid={readDevices(text) === null} onChange={(event) => onChange(event.target.value)} />
    </label>
  );
}
