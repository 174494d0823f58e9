// Users and teams, for those who may see them.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { teamsQuery, usersQuery } from "@/api/queries";
import { useMay } from "@/app/context";
import { ApiCall } from "@/ui/ApiCall";
import { Answer } from "@/ui/ListLooks";
import { Columns, PageHead, Panel } from "@/ui/Panel";
import { MakeTeam, MakeUser } from "./Make";
import { Teams } from "./Teams";
import { UserTable } from "./UserTable";

export function AccountsPage() {
  const { t } = useTranslation();
  const [making, setMaking] = useState<"user" | "team" | null>(null);
  const mayReadUsers = useMay("user-read");
  const mayEditUsers = useMay("user-edit");
  const mayMakeTeams = useMay("team-create");
  const actions = (
    <>
      <ApiCall call={{ method: "GET", path: "/api/v1/users" }} />
      {mayMakeTeams ? <button type="button" className="btn" onClick={() => setMaking("team")}>{t("accounts.newTeam")}</button> : null}
      {mayEditUsers ? <button type="button" className="btn pri" onClick={() => setMaking("user")}>{t("accounts.newUser")}</button> : null}
    </>
  );
  return (
    <div className="page">
      <PageHead title={t("accounts.title")} actions={actions} />
      <Columns parts={[1.5, 1]}>
        <Panel title={t("accounts.users")}>{mayReadUsers ? <Users mayEdit={mayEditUsers} /> : <p className="mut">{t("accounts.adminsOnly")}</p>}</Panel>
        <TeamsPanel />
      </Columns>
      {making === "user" ? <MakeUser onClose={() => setMaking(null)} /> : null}
      {making === "team" ? <MakeTeam onClose={() => setMaking(null)} /> : null}
    </div>
  );
}

function Users({ mayEdit }: { mayEdit: boolean }) {
  const { t } = useTranslation();
  const query = useQuery(usersQuery);
  return <Answer query={query} loading={t("accounts.reading")}>{(page) => <UserTable users={page.results} mayEdit={mayEdit} />}</Answer>;
}

function TeamsPanel() {
  const { t } = useTranslation();
  const query = useQuery(teamsQuery);
  return (
    <Panel title={t("accounts.teams")}>
      <Answer query={query} loading={t("accounts.reading")}>{(page) => (page.results.length > 0 ? <Teams teams={page.results} /> : <p className="mut">{t("accounts.noTeams")}</p>)}</Answer>
    </Panel>
  );
}
