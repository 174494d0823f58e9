// The job table: filters in the address, status chips, pages by cursor, cancel.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { jobsQuery, overviewQuery, queuesQuery, rows } from "@/api/queries";
import type { Job, JobStatus } from "@/api/types";
import { count } from "@/lib/format";
import { Arrays } from "@/features/arrays/Arrays";
import { ApiCall } from "@/ui/ApiCall";
import { JobGlyph } from "@/ui/JobTag";
import { Broken, Empty, Loading, Stale } from "@/ui/ListLooks";
import { PageHead } from "@/ui/Panel";
import { JobTable } from "./JobTable";
import { JOB_STATUSES, type JobSearch, jobFilters, selectedStatuses, toggleStatus } from "./search";
import "./jobs.css";

export function JobsPage() {
  const { t } = useTranslation();
  const search = useSearch({ from: "/inside/jobs" });
  const navigate = useNavigate({ from: "/jobs" });
  const change = (next: JobSearch) => void navigate({ search: next, replace: true });
  const query = useInfiniteQuery(jobsQuery(jobFilters(search)));
  const jobs = rows(query.data);
  const actions = (
    <>
      <ApiCall call={{ method: "GET", path: `/api/v1/jobs${apiQuery(search)}`, cli: "headrace jobs" }} />
      <Link className="btn pri" to="/jobs/new">{t("jobs.submit")}</Link>
    </>
  );
  return (
    <div className="page">
      <PageHead title={t("jobs.title")} sub={<Standing />} actions={actions} />
      <Filters search={search} onChange={change} />
      {search.array ? null : <Arrays />}
      <section className="panel" aria-busy={query.isFetching}>
        {query.data === undefined ? (
          query.error ? <Broken error={query.error} onRetry={() => void query.refetch()} /> : <Loading what={t("jobs.reading")} />
        ) : (
          <Rows jobs={jobs} search={search} stale={query.error ? query.dataUpdatedAt : null} onClear={() => change({})} />
        )}
        {query.hasNextPage ? (
          <button type="button" className="btn" style={{ marginTop: 12 }} disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>{t("ui.more")}</button>
        ) : null}
      </section>
    </div>
  );
}

function apiQuery(search: JobSearch): string {
  const query = new URLSearchParams();
  for (const status of selectedStatuses(search)) query.append("status", status);
  for (const [name, value] of Object.entries(search)) if (name !== "status" && value) query.set(name, value);
  return query.size > 0 ? `?${query}` : "";
}

/** How many jobs stand where, in words. */
function Standing() {
  const { t } = useTranslation();
  const { data } = useQuery(overviewQuery);
  if (!data) return null;
  const { pending, running, starting } = data.jobs;
  return <>{t("jobs.standing", { pending: count(pending), running: count(running + starting) })}</>;
}

function Rows({ jobs, search, stale, onClear }: { jobs: Job[]; search: JobSearch; stale: number | null; onClear: () => void }) {
  const { t } = useTranslation();
  if (jobs.length === 0) {
    const filtered = Object.keys(search).length > 0;
    return filtered ? (
      <Empty title={t("jobs.noneFound")}><button type="button" className="btn sml" onClick={onClear}>{t("jobs.clear")}</button></Empty>
    ) : (
      <Empty title={t("jobs.none")}>
        {t("jobs.noneNext")} <Link to="/jobs/new">{t("jobs.submit")}</Link>
        <pre className="code">headrace submit --wait -- python3 -c "print('hello')"</pre>
      </Empty>
    );
  }
  const table = <JobTable jobs={jobs} />;
  return stale == null ? table : <Stale at={stale}>{table}</Stale>;
}

function Filters({ search, onChange }: { search: JobSearch; onChange: (search: JobSearch) => void }) {
  const { t } = useTranslation();
  const { data: queues } = useQuery(queuesQuery);
  const chosen = new Set<JobStatus>(selectedStatuses(search));
  const set = (name: keyof JobSearch, value: string) => {
    const { [name]: _old, ...rest } = search;
    onChange(value ? { ...rest, [name]: value } : rest);
  };
  return (
    <div className="filters">
      <SearchField value={search.search ?? ""} onChange={(value) => set("search", value)} />
      <select className="field" aria-label={t("jobs.queue")} value={search.queue ?? ""} onChange={(event) => set("queue", event.target.value)}>
        <option value="">{t("jobs.allQueues")}</option>
        {(queues ?? []).map((queue) => <option key={queue.id} value={queue.name}>{queue.name}</option>)}
      </select>
      <div className="chips" role="group" aria-label={t("jobs.status")}>
        {JOB_STATUSES.map((status) => (
          <button key={status} type="button" className="chip" aria-pressed={chosen.has(status)} onClick={() => onChange(toggleStatus(search, status))}>
            <JobGlyph status={status} /> {t(`ui.job.${status}`)}
          </button>
        ))}
      </div>
      {search.owner ? <Chosen label={`${t("jobs.owner")}: ${search.owner}`} onClear={() => set("owner", "")} /> : null}
      {search.array ? <Chosen label={t("arrays.chosen", { array: search.array })} onClear={() => set("array", "")} /> : null}
      {search.team ? <Chosen label={`${t("jobs.team")}: ${search.team}`} onClear={() => set("team", "")} /> : null}
    </div>
  );
}

function Chosen({ label, onClear }: { label: string; onClear: () => void }) {
  const { t } = useTranslation();
  return <button type="button" className="tag" style={{ cursor: "pointer", background: "none" }} onClick={onClear} aria-label={`${label}, ${t("jobs.clear")}`}>{label} ×</button>;
}

const TYPING_MS = 250;

/** The address follows what is typed, a moment later; the field follows the address unless somebody types in it. */
function SearchField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const { t } = useTranslation();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (field.current && document.activeElement !== field.current) field.current.value = value;
  }, [value]);
  const typed = (text: string) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onChange(text.trim()), TYPING_MS);
  };
  return <input ref={field} className="field" type="search" defaultValue={value} placeholder={t("jobs.search")} aria-label={t("jobs.search")} onChange={(event) => typed(event.target.value)} />;
}
