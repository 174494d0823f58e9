// Dialogs: the browser's own modal, so that focus stays inside and Escape closes; and the one that asks before it acts.
import { type ReactNode, useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { asProblem } from "@/api/problem";

export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ReactNode }) {
  const ref = useRef<HTMLDialogElement>(null);
  const { t } = useTranslation();
  useEffect(() => {
    const dialog = ref.current;
    if (dialog && !dialog.open) dialog.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog ref={ref} className="dialog" aria-label={title} onCancel={(event) => { event.preventDefault(); onClose(); }}>
      <div className="row" style={{ marginBottom: 10 }}>
        <h2 style={{ fontSize: 15 }}>{title}</h2>
        <button type="button" className="icb" style={{ marginLeft: "auto", fontSize: 18 }} aria-label={t("ui.close")} onClick={onClose}>
          ×
        </button>
      </div>
      {children}
    </dialog>
  );
}

interface ConfirmProps {
  title: string;
  /** What will happen, and to whom. */
  children: ReactNode;
  action: string;
  call?: string;
  reason?: boolean;
  /** What cannot be undone. */
  harm?: boolean;
  onConfirm: (reason: string) => Promise<unknown>;
  onClose: () => void;
}

export function Confirm({ title, children, action, call, reason = false, harm = false, onConfirm, onClose }: ConfirmProps) {
  const { t } = useTranslation();
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const act = () => {
    setBusy(true);
    onConfirm(text.trim()).then(onClose, (problem: unknown) => { setError(problem); setBusy(false); });
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="mut">{children}</div>
      {reason ? (
        <label style={{ display: "grid", gap: 4, marginTop: 12 }}>
          <span className="sm mut">{t("ui.reason")}</span>
          <input className="field" value={text} maxLength={200} onChange={(event) => setText(event.target.value)} />
        </label>
      ) : null}
      {call ? <pre className="code" style={{ marginTop: 12 }}>{call}</pre> : null}
      {error ? <div className="broken" role="alert" style={{ marginTop: 12 }}>{asProblem(error).message}</div> : null}
      <div className="row" style={{ marginTop: 14, justifyContent: "flex-end" }}>
        <button type="button" className="btn" onClick={onClose}>{t("ui.leaveIt")}</button>
        <button type="button" className={harm ? "btn harm" : "btn pri"} disabled={busy || (reason && text.trim() === "")} onClick={act}>{action}</button>
      </div>
    </Dialog>
  );
}
