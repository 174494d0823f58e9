// The overview: in five seconds, where capacity goes, who waits and why, what needs a person.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { alertGroupsQuery, overviewQuery } from "@/api/queries";
import type { Overview } from "@/api/types";
import { AlertGroups } from "@/features/health/AlertGroups";
import { count } from "@/lib/format";
import { ApiCall } from "@/ui/ApiCall";
import { Answer, Empty } from "@/ui/ListLooks";
import { Columns, PageHead, Panel } from "@/ui/Panel";
import { CapacityChannel } from "./CapacityChannel";
import { flowOf } from "./channel";
import { DayPanel, LastCycle } from "./Figures";
import { LevelsPanel } from "./Levels";
import { UtilisationPanel } from "./Utilisation";
import { WaitRanges } from "./WaitRanges";
import { Reasons } from "./Reasons";
import "./overview.css";

const SHOWN_ALERTS = 5;

export function OverviewPage() {
  const { t } = useTranslation();
  const query = useQuery(overviewQuery);
  return (
    <div className="page">
      <PageHead title={t("overview.title")} sub={query.data ? <Sentence overview={query.data} /> : null} actions={<ApiCall call={{ method: "GET", path: "/api/v1/overview" }} />} />
      <Answer query={query} loading={t("overview.reading")}>{(overview) => (overview.nodes.total === 0 ? <NoNodes /> : <Panels overview={overview} />)}</Answer>
    </div>
  );
}

function NoNodes() {
  const { t } = useTranslation();
  return (
    <Empty title={t("overview.noNodes")}>
      {t("overview.noNodesNext")} <Link to="/nodes">{t("overview.toNodes")}</Link>
    </Empty>
  );
}

/** The dominant facts in words. */
function Sentence({ overview }: { overview: Overview }) {
  const { t } = useTranslation();
  const { alerts, jobs, waiting } = overview;
  const persons = alerts.open > 0 ? t("overview.persons", { count: alerts.open }) : t("overview.nobody");
  const first = [...waiting].sort((a, b) => b.count - a.count)[0];
  if (jobs.pending === 0) return <>{persons} {t("overview.nothingWaits")}</>;
  const why = first ? t("overview.mostly", { reason: t(`why.waitsFor.${first.code}`, { defaultValue: first.code }) }) : "";
  return <>{persons} {t("overview.jobsWait", { count: jobs.pending, jobs: count(jobs.pending) })}{why}{t("overview.stop")}</>;
}

function Panels({ overview }: { overview: Overview }) {
  const { t } = useTranslation();
  const { unit } = flowOf(overview);
  return (
    <>
      <Columns parts={[2.15, 1]}>
        <Panel title={t("overview.channel")} meta={<>{t(`overview.channelUnit.${unit}`)} · <Link to="/map">{t("overview.onMap")}</Link></>}>
          <CapacityChannel overview={overview} />
        </Panel>
        <NeedsPerson open={overview.alerts.open} />
      </Columns>
      <Columns parts={[1.28, 1]} top={16}>
        {unit === "devices" ? <UtilisationPanel /> : <LevelsPanel overview={overview} />}
        <Panel title={t("overview.waits")} meta={t("overview.waitsNote")}><WaitRanges queues={overview.queues} /></Panel>
        {unit === "devices" ? <LevelsPanel overview={overview} /> : null}
        <Panel title={t("overview.whyWait")} meta={<Link to="/jobs" search={{ status: "pending" }}>{t("overview.allWaiting", { count: overview.jobs.pending, jobs: count(overview.jobs.pending) })}</Link>}>
          <Reasons waiting={overview.waiting} />
        </Panel>
        <DayPanel overview={overview} />
        <LastCycle cycle={overview.cycle} />
      </Columns>
    </>
  );
}

function NeedsPerson({ open }: { open: number }) {
  const { t } = useTranslation();
  const query = useQuery(alertGroupsQuery);
  return (
    <Panel title={t("health.needsPerson")} meta={open > 0 ? <Link to="/health">{t("overview.allAlerts", { count: open })}</Link> : null}>
      <Answer query={query} loading={t("health.reading")}>
        {(groups) => {
          const heard = groups.filter((group) => !group.silenced).slice(0, SHOWN_ALERTS);
          return heard.length > 0 ? <AlertGroups groups={heard} /> : <p className="mut">{t("health.calm")}</p>;
        }}
      </Answer>
    </Panel>
  );
}
