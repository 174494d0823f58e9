// One job: how it stands, why it waits or where it runs, what happened, its log.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { cancelJob } from "@/api/actions";
import { keys } from "@/api/keys";
import { Problem } from "@/api/problem";
import { explainQuery, jobQuery } from "@/api/queries";
import type { Change, Job } from "@/api/types";
import { duration } from "@/lib/format";
import { joinWords } from "@/lib/shell";
import { useNow } from "@/lib/useNow";
import { ApiCall } from "@/ui/ApiCall";
import { Confirm } from "@/ui/Dialog";
import { JobTag } from "@/ui/JobTag";
import { Answer, Empty, Loading } from "@/ui/ListLooks";
import { Columns, PageHead, Panel } from "@/ui/Panel";
import { ForecastPanel } from "@/features/calendar/ForecastPanel";
import { JobActs } from "@/features/acting/JobActs";
import { asksLine } from "./Asks";
import { isFinal, isWaiting, span } from "./facts";
import { LogPanel } from "./LogPanel";
import { Outcome } from "./Outcome";
import { DecisionPanel, WherePanel } from "./Placed";
import { ReplicasPanel } from "./Replicas";
import { Timeline } from "./Timeline";
import { WaitSplit } from "./WaitSplit";
import { Waiting } from "./Waiting";
import "./job.css";

export function JobPage() {
  const { t } = useTranslation();
  const { id } = useParams({ from: "/inside/jobs/$id" });
  const query = useQuery(jobQuery(id));
  if (!query.data && isNotFound(query.error)) return <NoSuchJob id={id} />;
  return (
    <div className="page">
      <Answer query={query} loading={t("job.reading")}>{(job) => <Body job={job} />}</Answer>
    </div>
  );
}

const NOT_FOUND = 404;
const isNotFound = (error: unknown) => error instanceof Problem && error.status === NOT_FOUND;

/** There is no such job, or it belongs to a team the reader is not in: the server does not tell which. */
function NoSuchJob({ id }: { id: number }) {
  const { t } = useTranslation();
  return (
    <div className="page" role="alert">
      <PageHead title={Number.isInteger(id) ? t("job.noSuchJob", { id: String(id) }) : t("job.noJobNumber")} trail={<Link to="/jobs">{t("app.nav.jobs")}</Link>} />
      <Empty title={t("job.noSuchJobWhy")}>{" "}<Link to="/jobs">{t("job.toJobs")}</Link></Empty>
    </div>
  );
}

function Body({ job }: { job: Job }) {
  return (
    <>
      <Head job={job} />
      {isWaiting(job) ? <WaitingBody job={job} /> : <PlacedBody job={job} />}
    </>
  );
}

export const jobTitle = (job: Pick<Job, "id" | "name">) => job.name || `#${job.id}`;

function Head({ job }: { job: Job }) {
  const { t } = useTranslation();
  const now = useNow();
  const time = span(job, now);
  const trail = (
    <>
      <Link to="/jobs">{t("app.nav.jobs")}</Link> / <Link to="/jobs" search={{ queue: job.queue }}>{job.queue}</Link>
      {job.team ? <> / {t("job.team", { team: job.team })}</> : null} / {job.id}
    </>
  );
  return (
    <div className="head">
      <div>
        <div className="sm mut">{trail}</div>
        <h1 style={{ marginTop: 2 }}>{jobTitle(job)}</h1>
      </div>
      <JobTag status={job.status} span={time == null ? undefined : duration(time)} />
      <span className="sub">{t("job.asks", { what: asksLine(job.spec, t) })} · {job.owner}</span>
      <div className="acts">
        <Link className="btn" to="/jobs/new" search={{ clone: job.id }}>{t("job.clone")}</Link>
        <ApiCall call={{ method: "GET", path: `/api/v1/jobs/${job.id}`, cli: `headrace explain ${job.id}` }} />
        <JobActs job={job} />
        {isFinal(job) ? null : <CancelButton job={job} />}
      </div>
    </div>
  );
}

function CancelButton({ job }: { job: Job }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const [asking, setAsking] = useState(false);
  if (job.intent === "cancel") return <button type="button" className="btn" disabled>{t("job.cancelling")}</button>;
  const cancel = async () => {
    const changed = await cancelJob(job.id);
    if (changed && typeof changed === "object" && "status" in changed) queries.setQueryData(keys.job(job.id), changed);
    await queries.invalidateQueries({ queryKey: keys.job(job.id) });
  };
  return (
    <>
      <button type="button" className="btn" onClick={() => setAsking(true)}>{t("job.cancel")}</button>
      {asking ? (
        <Confirm title={t("job.cancelTitle", { job: jobTitle(job) })} action={t("job.cancelIt")} harm call={`POST /api/v1/jobs/${job.id}/cancel`} onConfirm={cancel} onClose={() => setAsking(false)}>
          {t(job.node ? "job.cancelRunning" : "job.cancelWaiting", { node: job.node?.name, owner: job.owner })}
        </Confirm>
      ) : null}
    </>
  );
}

function WaitingBody({ job }: { job: Job }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const query = useQuery(explainQuery(job.id));
  const take = (change: Change) => void navigate({ to: "/jobs/new", search: { clone: job.id, change: `${change.field}=${JSON.stringify(change.to)}` } });
  const aside = (
    <>
      <Panel title={t("job.waitedSoFar")}><WaitSplit job={job} /></Panel>
      <Timeline id={job.id} />
    </>
  );
  return (
    <>
      <Answer query={query} loading={t("job.readingWhy")}>
        {(explain) => <Waiting explain={explain.sentence ? explain : { ...explain, sentence: job.reason }} aside={aside} title={t("job.whyItWaits")} onTake={take} />}
      </Answer>
      {job.spec.deferrable ? <div className="gap-top"><ForecastPanel models={job.spec.resources.device_models} /></div> : null}
      {job.attempt > 1 ? <div className="gap-top"><LogPanel job={job} /></div> : null}
      <div className="gap-top"><CommandPanel job={job} /></div>
    </>
  );
}

function PlacedBody({ job }: { job: Job }) {
  const { t } = useTranslation();
  const explain = useQuery(explainQuery(job.id));
  return (
    <>
      {isFinal(job) ? <Outcome job={job} /> : null}
      <Columns parts={[1.9, 1]} top={isFinal(job) ? 18 : 0}>
        <div className="stack">
          <LogPanel job={job} />
          {explain.data?.decision ? <DecisionPanel decision={explain.data.decision} cycle={explain.data.cycle} /> : explain.isPending ? <Loading what={t("job.readingWhy")} /> : null}
        </div>
        <div className="stack">
          {job.node && job.spec.replicas === 1 ? <WherePanel job={job} explain={explain.data} /> : null}
          {job.node && job.spec.replicas > 1 ? <ReplicasPanel job={job} /> : null}
          <Panel title={t("job.waited")}><WaitSplit job={job} /></Panel>
          <Timeline id={job.id} />
          <CommandPanel job={job} />
        </div>
      </Columns>
    </>
  );
}

function CommandPanel({ job }: { job: Job }) {
  const { t } = useTranslation();
  const { env = {}, working_dir: folder, max_retries: retries, time_limit_s: limit } = job.spec;
  return (
    <Panel title={t("job.command")} meta={t("job.priority", { priority: job.priority })}>
      <pre className="code wrapped">{joinWords(job.spec.command)}</pre>
      <dl className="facts sm" style={{ marginTop: 8 }}>
        {folder ? <><dt>{t("job.folder")}</dt><dd className="mono">{folder}</dd></> : null}
        {Object.keys(env).length > 0 ? <><dt>{t("job.env")}</dt><dd className="mono">{Object.keys(env).sort().join(", ")}</dd></> : null}
        {limit == null ? null : <><dt>{t("job.timeLimit")}</dt><dd>{duration(limit * 1000)}</dd></>}
        {retries ? <><dt>{t("job.retries")}</dt><dd>{retries}</dd></> : null}
      </dl>
    </Panel>
  );
}
