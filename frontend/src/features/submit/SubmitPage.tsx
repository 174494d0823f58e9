// Submitting a job: the request as a form, tried before it is sent, with the same call for scripts beside it.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { dryRun, submitJob } from "@/api/actions";
import { keys } from "@/api/keys";
import { asProblem, type Problem } from "@/api/problem";
import { jobQuery, queuesQuery } from "@/api/queries";
import { type JobTemplate, templatesQuery } from "@/api/templates";
import type { DryRun, JobRequest } from "@/api/types";
import { withChange } from "@/features/why/Changes";
import { freshKey } from "@/lib/ids";
import { Copyable, curl } from "@/ui/ApiCall";
import { Loading } from "@/ui/ListLooks";
import { Columns, PageHead, Panel } from "@/ui/Panel";
import { Fields } from "./Fields";
import { asCommandLine, EMPTY_FORM, formField, formOf, type JobForm, readForm } from "./form";
import { overTemplate, startOf } from "./template";
import { BeyondForm, ChooseTemplate, KeepTemplate } from "./Templates";
import { Trial } from "./Trial";
import { usualQueue } from "./usual";
import "./submit.css";

export function SubmitPage() {
  const { t } = useTranslation();
  const { clone, change, template: chosen } = useSearch({ from: "/inside/jobs/new" });
  const queues = useQuery(queuesQuery);
  const source = useQuery({ ...jobQuery(clone ?? 0), enabled: clone !== undefined });
  const templates = useQuery({ ...templatesQuery, enabled: chosen !== undefined });
  const template = templates.data?.find((one) => one.id === chosen);
  const waits = (clone !== undefined && source.isPending) || (chosen !== undefined && templates.isPending);
  const first = useMemo(() => (source.data ? formOf(changed(source.data.spec, change)) : null), [source.data, change]);
  const usual = usualQueue(queues.data ?? []);
  const start = template ? startOf(template, usual) : (first ?? { ...EMPTY_FORM, queue: usual });
  return (
    <div className="page">
      <PageHead title={t("submit.title")} sub={clone === undefined ? t("submit.sub") : t("submit.cloneOf", { job: source.data?.name || `#${clone}` })} actions={<ChooseTemplate chosen={template?.id} />} />
      {waits || queues.isPending ? <Loading what={t("submit.reading")} /> : <Editor key={`${clone}-${change}-${template?.id}-${template?.changed_at}`} start={start} template={template} />}
    </div>
  );
}

/** A request with the change that the address names (`field=json`); one that cannot be read is left out. */
function changed(spec: JobRequest, change: string | undefined): JobRequest {
  const found = /^([\w.]+)=(.*)$/s.exec(change ?? "");
  if (!found) return spec;
  try {
    return withChange(spec, { field: found[1] as string, to: JSON.parse(found[2] as string) as unknown });
  } catch {
    return spec;
  }
}

interface Tried { spec: JobRequest; answer: DryRun }

function Editor({ start, template }: { start: JobForm; template: JobTemplate | undefined }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [form, setForm] = useState(start);
  const [busy, setBusy] = useState<"trial" | "submit" | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [asked, setAsked] = useState(false);
  const [tried, setTried] = useState<Tried | null>(null);
  const key = useRef({ spec: "", key: "" });
  const read = readForm(form);
  const reading = read.spec && template ? { spec: overTemplate(read.spec, template) } : read;
  const faults = faultsOf(asked ? read.faults : undefined, problem, t);

  const edit = (change: Partial<JobForm>) => {
    setForm((old) => ({ ...old, ...change }));
    setProblem(null);
  };
  const run = async (what: "trial" | "submit") => {
    setAsked(true);
    if (!reading.spec) return;
    setBusy(what);
    setProblem(null);
    try {
      if (what === "trial") setTried({ spec: reading.spec, answer: await dryRun(reading.spec) });
      else await send(reading.spec);
    } catch (error) {
      setProblem(asProblem(error));
    } finally {
      setBusy(null);
    }
  };
  // The same request sent twice, after a lost answer, is one job.
  const send = async (spec: JobRequest) => {
    const text = JSON.stringify(spec);
    if (key.current.spec !== text) key.current = { spec: text, key: freshKey() };
    const job = await submitJob(spec, key.current.key);
    await queries.invalidateQueries({ queryKey: keys.jobs() });
    await navigate({ to: "/jobs/$id", params: { id: job.id } });
  };

  return (
    <Columns parts={[1.25, 1]}>
      <form className="submit" noValidate onSubmit={(event) => { event.preventDefault(); void run("submit"); }}>
        {problem && faults.rest.length > 0 ? <div className="broken" role="alert"><b className="crit">{problem.message}</b>{faults.rest.map((line) => <div key={line} className="sm">{line}</div>)}</div> : null}
        {template ? <BeyondForm template={template} /> : null}
        <Fields form={form} faults={faults.byField} onChange={edit} />
        <div className="row" style={{ marginTop: 18 }}>
          <button type="submit" className="btn pri" disabled={busy !== null}>{busy === "submit" ? t("submit.sending") : t("submit.send")}</button>
          <button type="button" className="btn" disabled={busy !== null} onClick={() => void run("trial")}>{busy === "trial" ? t("submit.trying") : t("submit.try")}</button>
          <KeepTemplate spec={read.spec} template={template} />
        </div>
      </form>
      <div className="stack">
        <Trial tried={tried} old={tried !== null && JSON.stringify(tried.spec) !== JSON.stringify(reading.spec)} onTake={(change) => edit(formOf(withChange(tried?.answer.spec ?? ({} as JobRequest), change)))} />
        <SameCall spec={reading.spec} />
      </div>
    </Columns>
  );
}

function SameCall({ spec }: { spec: JobRequest | undefined }) {
  const { t } = useTranslation();
  if (!spec) return <Panel title={t("submit.same")}><p className="mut">{t("submit.sameLater")}</p></Panel>;
  const line = asCommandLine(spec);
  return (
    <Panel title={t("submit.same")} meta={t("submit.sameNote")}>
      {line ? <Copyable text={line} /> : <p className="mut">{t("submit.noLine")}</p>}
      <div style={{ height: 10 }} />
      <Copyable text={curl({ method: "POST", path: "/api/v1/jobs/submit", body: spec })} />
    </Panel>
  );
}

type FormFaults = ReturnType<typeof readForm>["faults"];

function faultsOf(own: FormFaults, problem: Problem | null, t: ReturnType<typeof useTranslation>["t"]) {
  const byField: Partial<Record<keyof JobForm, string>> = {};
  const rest: string[] = [];
  for (const fault of own ?? []) byField[fault.field] = t(`submit.fault.${fault.code}`);
  for (const error of problem?.errors ?? []) {
    const field = formField(error.field);
    if (field) byField[field] ??= error.message;
    else rest.push(`${error.field}: ${error.message}`);
  }
  if (problem && problem.errors.length === 0) rest.push(problem.code === "unreachable" ? t("ui.unreachable") : problem.code);
  return { byField, rest };
}
