// One team: what it may hold, holds now and held day by day, its members with their shares, and how long its jobs waited.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { rows } from "@/api/queries";
import { membersUseQuery, type MemberUse, teamQuery, teamUseQuery, type TeamUse } from "@/api/teams";
import { Members } from "@/features/accounts/Teams";
import { devices } from "@/features/quotas/amounts";
import { TeamQuotas } from "@/features/quotas/TeamQuotas";
import { count, seconds } from "@/lib/format";
import { ApiCall } from "@/ui/ApiCall";
import { Answer, Empty } from "@/ui/ListLooks";
import { Columns, PageHead, Panel } from "@/ui/Panel";
import { Seg } from "@/ui/Seg";
import { Known } from "@/ui/Words";
import { UseHistory } from "./UseHistory";

const SPANS = ["14", "30", "92"] as const;
type Span = (typeof SPANS)[number];

export function TeamPage() {
  const { t } = useTranslation();
  const { slug } = useParams({ from: "/inside/teams/$slug" });
  const [span, setSpan] = useState<Span>("14");
  const team = useQuery(teamQuery(slug));
  const use = useQuery(teamUseQuery(slug, Number(span)));
  const call = { method: "GET", path: `/api/v1/teams/${slug}/use?days=${span}`, cli: `headrace team ${slug} --days ${span}` };
  const choice = <Seg label={t("teams.span")} value={span} onChange={setSpan} options={SPANS.map((value) => ({ value, label: t("teams.days", { days: value }) }))} />;
  return (
    <div className="page">
      <PageHead title={team.data?.name ?? slug} trail={<Link to="/teams">{t("teams.title")}</Link>} sub={<Link to="/jobs" search={{ team: slug }}>{t("teams.itsJobs")}</Link>} actions={<>{choice}<ApiCall call={call} /></>} />
      <Columns parts={[1, 1.4]}>
        <Panel title={t("teams.now")} meta={t("teams.bookedNow")}><Answer query={use} loading={t("teams.reading")}>{(found) => <Now use={found} />}</Answer></Panel>
        <Panel title={t("teams.history")} meta={use.data ? t("teams.historyNote", { zone: use.data.time_zone }) : null}><Answer query={use} loading={t("teams.reading")}>{(found) => <UseHistory use={found} />}</Answer></Panel>
      </Columns>
      <Columns parts={[1.4, 1]} top={18}>
        <MemberUses slug={slug} />
        <Panel title={t("teams.waits")} meta={t("teams.waitsNote", { days: span })}><Answer query={use} loading={t("teams.reading")}>{(found) => <Waits use={found} />}</Answer></Panel>
      </Columns>
      <Columns parts={[1.4, 1]} top={18}>
        <TeamQuotas team={slug} />
        <Panel title={t("teams.whoIsIn")}><Members slug={slug} /></Panel>
      </Columns>
    </div>
  );
}

function Now({ use }: { use: TeamUse }) {
  const { t } = useTranslation();
  if (use.now.length === 0) return <Empty title={t("teams.idle")}><Link to="/jobs/new">{t("teams.submit")}</Link></Empty>;
  return (
    <div className="scroll">
      <table>
        <thead><tr><th>{t("teams.queue")}</th><HeldHead /></tr></thead>
        <tbody>{use.now.map((row) => <tr key={row.queue}><td className="b">{row.queue}</td><HeldCells held={row} /></tr>)}</tbody>
      </table>
    </div>
  );
}

function HeldHead() {
  const { t } = useTranslation();
  return <><th className="r">{t("teams.devices")}</th><th className="r">{t("teams.cores")}</th><th className="r">{t("teams.running")}</th><th className="r">{t("teams.waiting")}</th></>;
}

function HeldCells({ held }: { held: Pick<MemberUse, "device_milli" | "core_milli" | "running" | "waiting"> }) {
  return <><td className="r b">{devices(held.device_milli)}</td><td className="r">{devices(held.core_milli)}</td><td className="r">{count(held.running)}</td><td className="r">{count(held.waiting)}</td></>;
}

function MemberUses({ slug }: { slug: string }) {
  const { t } = useTranslation();
  const query = useInfiniteQuery(membersUseQuery(slug));
  return (
    <Panel title={t("teams.members")} meta={t("teams.bookedNow")}>
      <Answer query={query} loading={t("teams.reading")}>
        {(pages) => (
          <div className="scroll">
            <table>
              <thead><tr><th>{t("teams.member")}</th><th>{t("teams.shares")}</th><HeldHead /></tr></thead>
              <tbody>{rows<MemberUse>(pages).map((member) => <MemberRow key={member.username} team={slug} member={member} />)}</tbody>
            </table>
          </div>
        )}
      </Answer>
      {query.hasNextPage ? <button type="button" className="btn" onClick={() => void query.fetchNextPage()}>{t("teams.more")}</button> : null}
    </Panel>
  );
}

function MemberRow({ team, member }: { team: string; member: MemberUse }) {
  const { t } = useTranslation();
  const shares = member.shares.map((share) => `${share.queue} ${share.model ?? t("quotas.allModels")}: ${devices(share.share_milli)}`);
  return (
    <tr>
      <td><Link className="b" to="/jobs" search={{ team, owner: member.username }}>{member.username}</Link> <span className="dim">{t(`accounts.teamRole.${member.role}`)}</span></td>
      <td>{shares.length > 0 ? shares.join(" · ") : <span className="dim">{t("quotas.noShare")}</span>}</td>
      <HeldCells held={member} />
    </tr>
  );
}

const MARKS = ["mean", "p50", "p95", "p99"] as const;

function Waits({ use }: { use: TeamUse }) {
  const { t } = useTranslation();
  if (use.waits.length === 0) return <p className="mut">{t("teams.noneStarted")}</p>;
  return (
    <div className="scroll">
      <table>
        <thead><tr><th>{t("teams.queue")}</th><th className="r">{t("teams.started")}</th><th className="r">{t("teams.mean")}</th><th className="r">P50</th><th className="r">P95</th><th className="r">P99</th></tr></thead>
        <tbody>
          {use.waits.map((row) => (
            <tr key={row.queue}>
              <td className="b">{row.queue}</td><td className="r">{count(row.count)}</td>
              {MARKS.map((mark) => <td key={mark} className="r nw"><Known value={row[mark]} format={(value) => seconds(value)} /></td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
