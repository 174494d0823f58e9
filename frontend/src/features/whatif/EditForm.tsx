// Adding one supposition: its kind, and the few fields that kind needs.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useId, useState } from "react";
import { useTranslation } from "react-i18next";
import { activePolicyQuery, nodesQuery, queuesQuery, rows } from "@/api/queries";
import type { Edit, NodeSummary, ScoreTerm } from "@/api/types";
import { usualQueue } from "@/features/submit/usual";
import { KINDS, TERMS } from "./edits";
import { weightIn } from "./policy";
import { type JobDraft, EMPTY_DRAFT, specOfDraft } from "./draft";

type Kind = Edit["kind"];
interface FormProps { onAdd: (edit: Edit) => void }

export function EditForm({ onAdd }: FormProps) {
  const { t } = useTranslation();
  const [kind, setKind] = useState<Kind>("drain-node");
  return (
    <div className="editform">
      <Field label={t("whatif.kind")}>
        <select className="field" value={kind} onChange={(event) => setKind(event.target.value as Kind)}>
          {KINDS.map((one) => <option key={one} value={one}>{t(`whatif.kinds.${one}`)}</option>)}
        </select>
      </Field>
      {kind === "add-job" ? <AddJob onAdd={onAdd} /> : null}
      {kind === "drain-node" ? <DrainNode onAdd={onAdd} /> : null}
      {kind === "change-weight" ? <ChangeWeight onAdd={onAdd} /> : null}
      {kind === "change-quota" ? <ChangeQuota onAdd={onAdd} /> : null}
      {kind === "add-nodes" ? <AddNodes onAdd={onAdd} /> : null}
    </div>
  );
}

function Field({ label, hint, children }: { label: string; hint?: string | undefined; children: ReactNode }) {
  return <label className="labelled"><span className="sm mut">{label}{hint ? <span className="dim"> · {hint}</span> : null}</span>{children}</label>;
}

/** A form whose button adds the edit; `edit` is null while it is not complete. */
function Adds({ edit, onAdd, children }: { edit: Edit | null; onAdd: (edit: Edit) => void; children: ReactNode }) {
  const { t } = useTranslation();
  const add = (event: FormEvent) => {
    event.preventDefault();
    if (edit) onAdd(edit);
  };
  return (
    <form noValidate onSubmit={add}>
      {children}
      <button type="submit" className="btn" disabled={!edit}>{t("whatif.add")}</button>
    </form>
  );
}

function NumberField({ label, hint, value, min, max, step = 1, onChange }: { label: string; hint?: string; value: string; min: number; max: number; step?: number | "any"; onChange: (value: string) => void }) {
  return (
    <Field label={label} hint={hint}>
      <input className="field" type="number" inputMode="decimal" value={value} min={min} max={max} step={step} onChange={(event) => onChange(event.target.value)} />
    </Field>
  );
}

/** The number in a field; null where it is none or outside its bounds. */
function within(text: string, min: number, max: number): number | null {
  const value = Number(text);
  return text.trim() !== "" && Number.isFinite(value) && value >= min && value <= max ? value : null;
}

const FOUND = 20;

/** Nodes whose names hold a text, and the one that is called so. */
function useNodesNamed(text: string): { found: readonly NodeSummary[]; node: NodeSummary | null } {
  const name = text.trim();
  const { data } = useInfiniteQuery(nodesQuery({ limit: FOUND, ...(name ? { search: name } : {}) }));
  const found = rows(data);
  return { found, node: found.find((node) => node.name === name) ?? null };
}

function NodeField({ label, text, found, onChange }: { label: string; text: string; found: readonly NodeSummary[]; onChange: (text: string) => void }) {
  const { t } = useTranslation();
  const list = useId();
  return (
    <Field label={label} hint={t("whatif.nodeHint")}>
      <input className="field" list={list} value={text} autoComplete="off" onChange={(event) => onChange(event.target.value)} />
      <datalist id={list}>{found.map((node) => <option key={node.id} value={node.name}>{[node.node_set, node.device_models[0] ? `${node.devices} × ${node.device_models[0]}` : ""].filter(Boolean).join(" · ")}</option>)}</datalist>
    </Field>
  );
}

function DrainNode({ onAdd }: FormProps) {
  const { t } = useTranslation();
  const [name, setName] = useState("");
  const { node, found } = useNodesNamed(name);
  return <Adds edit={node ? { kind: "drain-node", node: node.id } : null} onAdd={onAdd}><NodeField label={t("whatif.node")} text={name} found={found} onChange={setName} /></Adds>;
}

const MOST_NODES = 100;

function AddNodes({ onAdd }: FormProps) {
  const { t } = useTranslation();
  const [name, setName] = useState("");
  const { node, found } = useNodesNamed(name);
  const [text, setText] = useState("1");
  const count = within(text, 1, MOST_NODES);
  return (
    <Adds edit={node && count !== null ? { kind: "add-nodes", like: node.id, count: Math.round(count) } : null} onAdd={onAdd}>
      <NodeField label={t("whatif.like")} text={name} found={found} onChange={setName} />
      <NumberField label={t("whatif.count")} hint={t("whatif.upTo", { most: MOST_NODES })} value={text} min={1} max={MOST_NODES} onChange={setText} />
    </Adds>
  );
}

const LARGEST_WEIGHT = 1000;

function ChangeWeight({ onAdd }: FormProps) {
  const { t } = useTranslation();
  const { data: policy } = useQuery(activePolicyQuery);
  const [term, setTerm] = useState<ScoreTerm>("affinity");
  const [text, setText] = useState("");
  const weight = within(text, 0, LARGEST_WEIGHT);
  const now = policy ? weightIn(policy.document, term) : null;
  return (
    <Adds edit={weight === null ? null : { kind: "change-weight", term, weight }} onAdd={onAdd}>
      <Field label={t("whatif.term")}>
        <select className="field" value={term} onChange={(event) => setTerm(event.target.value as ScoreTerm)}>{TERMS.map((one) => <option key={one} value={one}>{t(`ui.term.${one}`)}</option>)}</select>
      </Field>
      <NumberField label={t("whatif.weight")} hint={now === null ? `0–${LARGEST_WEIGHT}` : t("whatif.now", { value: now })} value={text} min={0} max={LARGEST_WEIGHT} step="any" onChange={setText} />
      <p className="sm mut">{t(`why.meaning.${term}`)}</p>
    </Adds>
  );
}

function ChangeQuota({ onAdd }: FormProps) {
  const { t } = useTranslation();
  const { data: queues = [] } = useQuery(queuesQuery);
  const [chosen, setQueue] = useState("");
  const [text, setText] = useState("");
  const [none, setNone] = useState(false);
  const queue = queues.find((one) => one.name === chosen) ?? queues[0];
  const percent = within(text, 0, 100);
  const now = queue ? (queue.quota_percent == null ? t("whatif.noQuotaNow") : t("whatif.now", { value: `${queue.quota_percent} %` })) : "";
  const edit: Edit | null = !queue || (!none && percent === null) ? null : { kind: "change-quota", queue: queue.name, percent: none ? null : percent };
  return (
    <Adds edit={edit} onAdd={onAdd}>
      <Field label={t("whatif.queue")}>
        <select className="field" value={queue?.name ?? ""} onChange={(event) => setQueue(event.target.value)}>{queues.map((one) => <option key={one.name}>{one.name}</option>)}</select>
      </Field>
      {none ? null : <NumberField label={t("whatif.percent")} hint={now} value={text} min={0} max={100} step="any" onChange={setText} />}
      <label className="check"><input type="checkbox" checked={none} onChange={(event) => setNone(event.target.checked)} /> {t("whatif.noQuota")}</label>
      <p className="sm mut">{t("whatif.quotaNote")}</p>
    </Adds>
  );
}

const MOST_JOBS = 1000;

function AddJob({ onAdd }: FormProps) {
  const { t } = useTranslation();
  const { data: queues = [] } = useQuery(queuesQuery);
  const [draft, setDraft] = useState<JobDraft>(EMPTY_DRAFT);
  const set = (change: Partial<JobDraft>) => setDraft((old) => ({ ...old, ...change }));
  const queue = draft.queue || usualQueue(queues);
  const spec = specOfDraft({ ...draft, queue });
  const count = within(draft.count, 1, MOST_JOBS);
  const text = (field: "models" | "deviceMemory" | "memory" | "labels", hint?: string) => (
    <Field label={t(`whatif.job.${field}`)} hint={hint}><input className="field" value={draft[field]} onChange={(event) => set({ [field]: event.target.value })} /></Field>
  );
  return (
    <Adds edit={spec && count !== null ? { kind: "add-job", count: Math.round(count), spec } : null} onAdd={onAdd}>
      <div className="pairs">
        <NumberField label={t("whatif.count")} hint={t("whatif.upTo", { most: MOST_JOBS })} value={draft.count} min={1} max={MOST_JOBS} onChange={(value) => set({ count: value })} />
        <Field label={t("whatif.queue")}>
          <select className="field" value={queue} onChange={(event) => set({ queue: event.target.value })}>{queues.map((one) => <option key={one.name}>{one.name}</option>)}</select>
        </Field>
        <NumberField label={t("submit.field.devices")} value={draft.devices} min={0} max={1024} onChange={(value) => set({ devices: value })} />
        {text("models", t("whatif.comma"))}
        {text("deviceMemory", t("submit.hint.deviceMemory"))}
        <NumberField label={t("submit.field.cores")} value={draft.cores} min={1} max={8192} onChange={(value) => set({ cores: value })} />
        {text("memory", t("submit.hint.memory"))}
        {text("labels", "name=value")}
      </div>
    </Adds>
  );
}
