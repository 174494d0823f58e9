// What teams may hold inside queues and how it is divided: admins set the whole, the team's leads the members' shares.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { membersQuery } from "@/api/queries";
import { type Amount, type TeamQuota, teamQuotasQuery } from "@/api/quotas";
import { meQuery } from "@/api/session";
import { useMay } from "@/app/context";
import { Answer, Empty } from "@/ui/ListLooks";
import { Panel } from "@/ui/Panel";
import { devices } from "./amounts";
import { EditAmount } from "./EditAmount";
import { NewQuota } from "./NewQuota";

export function TeamQuotas({ team }: { team?: string }) {
  const { t } = useTranslation();
  const query = useQuery(teamQuotasQuery);
  const [edited, setEdited] = useState<Amount | null>(null);
  const [making, setMaking] = useState(false);
  const maySetQuota = useMay("queue-edit");
  return (
    <Panel title={t("quotas.title")} meta={t("quotas.unit")}>
      <Answer query={query} loading={t("quotas.reading")}>
        {(all) => { const rows = all.filter((row) => !team || row.team === team); return (rows.length === 0 ? <Empty title={t(team ? "quotas.noneOfTeam" : "quotas.none")}>{maySetQuota ? null : t("quotas.adminsSet")}</Empty> : (
          <div className="scroll">
            <table>
              <thead><tr><th>{t("quotas.team")}</th><th>{t("quotas.queue")}</th><th>{t("quotas.model")}</th><th className="r">{t("quotas.quota")}</th><th>{t("quotas.shares")}</th></tr></thead>
              <tbody>{rows.map((row) => <Row key={row.id} quota={row} onEdit={setEdited} />)}</tbody>
            </table>
          </div>
        )); }}
      </Answer>
      {maySetQuota ? <button type="button" className="btn" style={{ marginTop: 10 }} onClick={() => setMaking(true)}>{t("quotas.newQuota")}…</button> : null}
      {making ? <NewQuota onClose={() => setMaking(false)} /> : null}
      {edited ? <EditAmount amount={edited} onClose={() => setEdited(null)} /> : null}
    </Panel>
  );
}

function Row({ quota, onEdit }: { quota: TeamQuota; onEdit: (amount: Amount) => void }) {
  const { t } = useTranslation();
  const maySetQuota = useMay("queue-edit");
  const { data: me } = useQuery(meQuery);
  const leads = me?.role === "admin" || (me?.teams.some((team) => team.slug === quota.team && team.role === "lead") ?? false);
  return (
    <tr>
      <td className="b"><Link to="/teams/$slug" params={{ slug: quota.team }}>{quota.team}</Link></td>
      <td>{quota.queue}</td>
      <td>{quota.model ?? t("quotas.allModels")}</td>
      <td className="r nw">
        <b>{devices(quota.quota_milli)}</b>{" "}
        {maySetQuota ? <button type="button" className="btn sml" aria-label={t("quotas.editQuota", { team: quota.team, queue: quota.queue })} onClick={() => onEdit({ quota })}>{t("quotas.edit")}…</button> : null}
      </td>
      <td>{leads ? <Members quota={quota} onEdit={onEdit} /> : <Shares quota={quota} />}</td>
    </tr>
  );
}

function Shares({ quota }: { quota: TeamQuota }) {
  const { t } = useTranslation();
  if (quota.shares.length === 0) return <span className="dim">{t("quotas.undivided")}</span>;
  return <>{quota.shares.map((share) => `${share.username} ${devices(share.share_milli)}`).join(" · ")}</>;
}

function Members({ quota, onEdit }: { quota: TeamQuota; onEdit: (amount: Amount) => void }) {
  const { t } = useTranslation();
  const { data } = useQuery(membersQuery(quota.team));
  const members = (data?.results ?? []).map((member) => member.username);
  const share = (username: string) => quota.shares.find((one) => one.username === username);
  return (
    <ul style={{ listStyle: "none", padding: 0, margin: 0 }}>
      {members.map((username) => (
        <li key={username} className="row" style={{ gap: 8 }}>
          <span>{username}</span>
          <b>{share(username) ? devices(share(username)?.share_milli ?? 0) : <span className="dim">{t("quotas.noShare")}</span>}</b>
          <button type="button" className="btn sml" aria-label={t("quotas.editShare", { team: quota.team, queue: quota.queue, username })} onClick={() => onEdit({ quota, username })}>{t("quotas.edit")}…</button>
        </li>
      ))}
    </ul>
  );
}
