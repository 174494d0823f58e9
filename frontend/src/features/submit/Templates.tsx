// Choosing a template for the form, and keeping what is in the form as one.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { asProblem } from "@/api/problem";
import { meQuery } from "@/api/session";
import { dropTemplate, type JobTemplate, saveTemplate, templatesKey, templatesQuery } from "@/api/templates";
import type { JobRequest } from "@/api/types";
import { Dialog } from "@/ui/Dialog";
import { beyondForm, templateSpec } from "./template";

const MOST_LETTERS = 100;

export function ChooseTemplate({ chosen }: { chosen: number | undefined }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const { data: templates = [] } = useQuery(templatesQuery);
  if (templates.length === 0) return null;
  const choose = (value: string) => void navigate({ to: "/jobs/new", search: value === "" ? {} : { template: Number(value) } });
  return (
    <label className="row sm" style={{ gap: 8 }}>
      <span className="mut">{t("submit.template.choose")}</span>
      <select className="field" value={chosen ?? ""} onChange={(event) => choose(event.target.value)}>
        <option value="">{t("submit.template.none")}</option>
        {templates.map((one) => <option key={one.id} value={one.id}>{one.team} / {one.name}</option>)}
      </select>
    </label>
  );
}

/** What the chosen template says that the form does not show: it holds all the same. */
export function BeyondForm({ template }: { template: JobTemplate }) {
  const { t } = useTranslation();
  const names = beyondForm(template);
  return (
    <>
      {template.description ? <p className="mut" style={{ marginBottom: 8 }}>{template.description}</p> : null}
      {names.length > 0 ? <p className="note sm" style={{ marginBottom: 12 }}>{t("submit.template.beyond")} <span className="mono">{names.join(", ")}</span></p> : null}
    </>
  );
}

export function KeepTemplate({ spec, template }: { spec: JobRequest | undefined; template: JobTemplate | undefined }) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="btn" disabled={!spec} onClick={() => setOpen(true)}>{t("submit.template.keep")}…</button>
      {open && spec ? <KeepDialog spec={spec} template={template} onClose={() => setOpen(false)} /> : null}
    </>
  );
}

function KeepDialog({ spec, template, onClose }: { spec: JobRequest; template: JobTemplate | undefined; onClose: () => void }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { data: templates = [] } = useQuery(templatesQuery);
  const teams = useQuery(meQuery).data?.teams ?? [];
  const [team, setTeam] = useState(template?.team ?? spec.team ?? teams[0]?.slug ?? "");
  const [name, setName] = useState(template?.name ?? spec.name ?? "");
  const [description, setDescription] = useState(template?.description ?? "");
  const [error, setError] = useState<unknown>(null);
  const there = templates.find((one) => one.team === team && one.name === name.trim());
  const act = async (work: () => Promise<JobTemplate | undefined>) => {
    setError(null);
    try {
      const kept = await work();
      await queries.invalidateQueries({ queryKey: templatesKey });
      onClose();
      await navigate({ to: "/jobs/new", search: kept ? { template: kept.id } : {} });
    } catch (problem) {
      setError(problem);
    }
  };
  const keep = () => act(() => saveTemplate({ team, name: name.trim(), description, spec: templateSpec(spec, there) }, there));
  const drop = () => act(async () => { if (there) await dropTemplate(there.id); return undefined; });
  const problem = error ? asProblem(error) : null;
  return (
    <Dialog title={t("submit.template.keep")} onClose={onClose}>
      <div style={{ display: "grid", gap: 10 }}>
        <label style={{ display: "grid", gap: 4 }}><span className="sm mut">{t("submit.field.team")}</span>
          {teams.length > 0
            ? <select className="field" value={team} onChange={(event) => setTeam(event.target.value)}>{[...new Set([team, ...teams.map((one) => one.slug)])].filter(Boolean).map((slug) => <option key={slug}>{slug}</option>)}</select>
            : <input className="field" value={team} onChange={(event) => setTeam(event.target.value)} />}
        </label>
        <label style={{ display: "grid", gap: 4 }}><span className="sm mut">{t("submit.template.name")}</span><input className="field" value={name} maxLength={MOST_LETTERS} onChange={(event) => setName(event.target.value)} /></label>
        <label style={{ display: "grid", gap: 4 }}><span className="sm mut">{t("submit.template.description")}</span><input className="field" value={description} maxLength={500} onChange={(event) => setDescription(event.target.value)} /></label>
      </div>
      <p className="sm mut" style={{ marginTop: 10 }}>{t(there ? "submit.template.replaces" : "submit.template.says")}</p>
      {problem ? <div className="broken" role="alert" style={{ marginTop: 10 }}>{problem.message}{problem.errors.map((one) => <div key={one.field} className="sm">{one.field}: {one.message}</div>)}</div> : null}
      <div className="row wrap" style={{ marginTop: 14, justifyContent: "flex-end" }}>
        {there ? <button type="button" className="btn" style={{ marginRight: "auto" }} onClick={() => void drop()}>{t("submit.template.drop")}</button> : null}
        <button type="button" className="btn" onClick={onClose}>{t("ui.leaveIt")}</button>
        <button type="button" className="btn pri" disabled={team === "" || name.trim() === ""} onClick={() => void keep()}>{t("submit.template.save")}</button>
      </div>
    </Dialog>
  );
}
