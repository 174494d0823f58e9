// The teams that the reader may see; whose only team it is, sees it at once.
import { useQuery } from "@tanstack/react-query";
import { Link, Navigate } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { teamsQuery } from "@/api/queries";
import { count } from "@/lib/format";
import { Answer, Empty } from "@/ui/ListLooks";
import { PageHead } from "@/ui/Panel";

export function TeamsPage() {
  const { t } = useTranslation();
  const query = useQuery(teamsQuery);
  const only = query.data?.results.length === 1 ? query.data.results[0] : undefined;
  if (only) return <Navigate to="/teams/$slug" params={{ slug: only.slug }} replace />;
  return (
    <div className="page">
      <PageHead title={t("teams.title")} />
      <Answer query={query} loading={t("teams.reading")}>
        {({ results }) => (results.length === 0 ? <Empty title={t("teams.none")} /> : (
          <table>
            <thead><tr><th>{t("teams.team")}</th><th className="r">{t("teams.members")}</th></tr></thead>
            <tbody>{results.map((team) => <tr key={team.slug}><td className="b"><Link to="/teams/$slug" params={{ slug: team.slug }}>{team.name}</Link></td><td className="r">{count(team.members)}</td></tr>)}</tbody>
          </table>
        ))}
      </Answer>
    </div>
  );
}
