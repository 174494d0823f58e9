// What if: the same engine plans the waiting jobs once as things are and once with something different. Nothing is stored.
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect } from "react";
import { useTranslation } from "react-i18next";
import { recordingsQuery, whatIfQuery } from "@/api/queries";
import { meQuery } from "@/api/session";
import { asProblem } from "@/api/problem";
import type { Edit, WhatIf } from "@/api/types";
import { useMay } from "@/app/context";
import { count, dateTime, dayLabel } from "@/lib/format";
import { Copyable, curl } from "@/ui/ApiCall";
import { Empty, Loading } from "@/ui/ListLooks";
import { Columns, PageHead, Panel } from "@/ui/Panel";
import { byDay } from "./days";
import { EditForm } from "./EditForm";
import { MOST_EDITS, readEdits, requestOf, type WhatIfSearch } from "./edits";
import { Result } from "./Result";
import { EditSentence } from "./sentence";
import "@/features/why/why.css";
import "./whatif.css";

export function WhatIfPage() {
  const { t } = useTranslation();
  const { data: me } = useQuery(meQuery);
  const may = useMay("what-if");
  return (
    <div className="page">
      <PageHead title={t("whatif.title")} sub={t("whatif.sub")} />
      {me && !may ? <Empty title={t("whatif.operatorsOnly")} /> : <Bench />}
    </div>
  );
}

function Bench() {
  const { t } = useTranslation();
  const search = useSearch({ from: "/inside/what-if" });
  const navigate = useNavigate({ from: "/what-if" });
  const edits = readEdits(search.edits);
  const request = requestOf(search);
  const query = useQuery(whatIfQuery(request));
  const { refetch } = query;
  const asked = search.run === 1;
  const isNew = asked && !query.data && !query.isFetching && !query.error;
  // An address that says `run` is answered when it is opened, and once.
  useEffect(() => {
    if (isNew) void refetch();
  }, [isNew, refetch]);
  const go = (next: WhatIfSearch) => void navigate({ search: next, replace: true });
  const change = (next: readonly Edit[]) => go({ ...(search.recording ? { recording: search.recording } : {}), ...(next.length > 0 ? { edits: JSON.stringify(next) } : {}) });
  const run = () => {
    if (asked) void refetch();
    else go({ ...search, run: 1 });
  };
  return (
    <Columns parts={[1, 1.9]}>
      <div className="stack">
        <Panel title={t("whatif.start")}><Start recording={search.recording ?? null} onChange={(recording) => go({ ...(recording ? { recording } : {}), ...(search.edits ? { edits: search.edits } : {}) })} /></Panel>
        <Panel title={t("whatif.edits")} meta={t("whatif.editsOf", { count: edits.length, most: MOST_EDITS })}>
          <Edits edits={edits} onRemove={(index) => change(edits.filter((_edit, i) => i !== index))} />
          {edits.length < MOST_EDITS ? <EditForm onAdd={(edit) => change([...edits, edit])} /> : null}
        </Panel>
        <div className="row wrap">
          <button type="button" className="btn pri" disabled={edits.length === 0 || query.isFetching} onClick={run}>{query.isFetching ? t("whatif.running") : t("whatif.run")}</button>
          <span className="sm mut">{t("whatif.harmless")}</span>
        </div>
        <Panel title={t("whatif.same")}><Copyable text={curl({ method: "POST", path: "/api/v1/what-if", body: request })} /></Panel>
      </div>
      <Answered asked={asked} isFetching={query.isFetching} data={query.data} error={query.error} />
    </Columns>
  );
}

function Start({ recording, onChange }: { recording: number | null; onChange: (recording: number | null) => void }) {
  const { t, i18n } = useTranslation();
  const { data } = useQuery(recordingsQuery);
  const found = data?.results ?? [];
  const isListed = recording === null || found.some((one) => one.id === recording);
  return (
    <>
      <select className="field start" aria-label={t("whatif.start")} value={recording ?? ""} onChange={(event) => onChange(event.target.value === "" ? null : Number(event.target.value))}>
        <option value="">{t("whatif.clusterNow")}</option>
        {isListed ? null : <option value={recording ?? ""}>{t("whatif.recordingId", { id: String(recording) })}</option>}
        {byDay(found, (at) => dayLabel(at, i18n.language)).map(([day, ones]) => (
          <optgroup key={ones[0]?.id} label={day}>
            {ones.map((one) => <option key={one.id} value={one.id}>{t("whatif.recordingOf", { at: dateTime(one.at, i18n.language), jobs: t("whatif.recordedJobs", { count: one.jobs }), nodes: t("map.nodes", { count: one.nodes, nodes: count(one.nodes) }), id: String(one.id) })}</option>)}
          </optgroup>
        ))}
      </select>
      <p className="sm mut" style={{ marginTop: 6 }}>{t(recording === null ? "whatif.nowNote" : "whatif.recordingNote")} <Link to="/status">{t("whatif.allRecordings")}</Link></p>
    </>
  );
}

function Edits({ edits, onRemove }: { edits: readonly Edit[]; onRemove: (index: number) => void }) {
  const { t } = useTranslation();
  if (edits.length === 0) return <Empty title={t("whatif.noEdits")}>{t("whatif.noEditsNext")}</Empty>;
  return (
    <ol className="edits">
      {edits.map((edit, index) => (
        <li key={`${index}-${JSON.stringify(edit)}`}>
          <span><EditSentence edit={edit} /></span>
          <button type="button" className="icb" aria-label={t("whatif.remove", { number: String(index + 1) })} onClick={() => onRemove(index)}>×</button>
        </li>
      ))}
    </ol>
  );
}

function Answered({ asked, isFetching, data, error }: { asked: boolean; isFetching: boolean; data: WhatIf | undefined; error: unknown }) {
  const { t } = useTranslation();
  if (isFetching) return <Panel title={t("whatif.result")}><Loading what={t("whatif.planning")} /></Panel>;
  if (asked && error) return <Panel title={t("whatif.result")}><Refused error={error} /></Panel>;
  if (asked && data) return <div aria-live="polite"><Result answer={data} /></div>;
  return <Panel title={t("whatif.result")}><p className="mut">{t("whatif.notYet")}</p></Panel>;
}

/** What the server says of each edit it cannot take. */
function Refused({ error }: { error: unknown }) {
  const { t } = useTranslation();
  const problem = asProblem(error);
  const where = (field: string) => field.replace(/^edits\[(\d+)\]/, (_found, index: string) => t("whatif.editNumber", { number: String(Number(index) + 1) }));
  return (
    <div className="broken" role="alert">
      <b className="crit">{problem.code === "unreachable" ? t("ui.unreachable") : problem.message}</b>
      {problem.errors.map((one) => <div key={`${one.field}-${one.code}`} className="sm">{where(one.field)}: {one.message}</div>)}
    </div>
  );
}
