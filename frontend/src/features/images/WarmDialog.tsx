// Orders that an image is fetched on chosen nodes before a job needs it.
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { type ImageOutcome, orderImage } from "@/api/images";
import { keys } from "@/api/keys";
import { asProblem } from "@/api/problem";
import { nodesQuery, rows } from "@/api/queries";
import { Dialog } from "@/ui/Dialog";
import { Field } from "@/ui/Field";
import { Refused } from "./Refused";

const SHOWN = 100;

export function WarmDialog({ image, onClose }: { image?: string; onClose: () => void }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const [name, setName] = useState(image ?? "");
  const [reason, setReason] = useState("");
  const [chosen, setChosen] = useState<readonly number[]>([]);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [refused, setRefused] = useState<ImageOutcome[] | null>(null);
  const order = { action: "warm" as const, image: name.trim(), nodes: [...chosen], reason: reason.trim() };
  const perform = async () => {
    setBusy(true);
    try {
      const problems = (await orderImage(order)).filter((outcome) => !outcome.changed);
      await queries.invalidateQueries({ queryKey: keys.images });
      if (problems.length === 0) onClose();
      else setRefused(problems);
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  const title = t("images.warm");
  if (refused) return <Dialog title={title} onClose={onClose}><Refused outcomes={refused} total={chosen.length} /></Dialog>;
  const problem = error ? asProblem(error) : null;
  return (
    <Dialog title={title} onClose={onClose}>
      <p className="mut">{t("images.warmEffect")}</p>
      <div className="stack" style={{ marginTop: 12, gap: 10 }}>
        <Field label={t("images.image")} problem={problem} name="image">
          <input className="field" value={name} readOnly={image !== undefined} maxLength={300} onChange={(event) => setName(event.target.value)} />
        </Field>
        <NodeChoice chosen={chosen} onChange={setChosen} />
        <Field label={t("ui.reason")} problem={problem} name="reason">
          <input className="field" value={reason} maxLength={200} onChange={(event) => setReason(event.target.value)} />
        </Field>
      </div>
      <pre className="code wrapped" style={{ marginTop: 12 }}>{`POST /api/v1/images/orders ${JSON.stringify(order)}`}</pre>
      {problem ? <div className="broken" role="alert" style={{ marginTop: 12 }}>{problem.message}</div> : null}
      <div className="row" style={{ marginTop: 14, justifyContent: "flex-end" }}>
        <button type="button" className="btn" onClick={onClose}>{t("ui.leaveIt")}</button>
        <button type="button" className="btn pri" disabled={busy || order.image === "" || chosen.length === 0 || order.reason === ""} onClick={() => void perform()}>
          {t("images.warmOn", { count: chosen.length })}
        </button>
      </div>
    </Dialog>
  );
}

function NodeChoice({ chosen, onChange }: { chosen: readonly number[]; onChange: (chosen: readonly number[]) => void }) {
  const { t } = useTranslation();
  const [text, setText] = useState("");
  const query = useInfiniteQuery(nodesQuery({ state: "ready", limit: SHOWN, ...(text.trim() ? { search: text.trim() } : {}) }));
  const toggle = (id: number, on: boolean) => onChange(on ? [...chosen, id] : chosen.filter((one) => one !== id));
  return (
    <fieldset style={{ border: 0, padding: 0, margin: 0, display: "grid", gap: 4 }}>
      <legend className="sm mut">{t("images.nodes")}</legend>
      <input className="field" type="search" value={text} placeholder={t("inventory.search")} aria-label={t("inventory.search")} onChange={(event) => setText(event.target.value)} />
      <div style={{ maxHeight: 180, overflow: "auto" }}>
        {(query.data ? rows(query.data) : []).map((node) => (
          <label key={node.id} className="row" style={{ gap: 8 }}>
            <input type="checkbox" checked={chosen.includes(node.id)} onChange={(event) => toggle(node.id, event.target.checked)} /> <span>{node.name}</span>
          </label>
        ))}
      </div>
      {query.hasNextPage ? <span className="xs dim">{t("images.moreNodes")}</span> : null}
    </fieldset>
  );
}
