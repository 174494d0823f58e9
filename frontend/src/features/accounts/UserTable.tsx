// Users with their roles; administrators change role and access here.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { changeUser } from "@/api/actions";
import { keys } from "@/api/keys";
import { asProblem } from "@/api/problem";
import type { Me, User } from "@/api/types";
import { dateTime } from "@/lib/format";
import { None } from "@/ui/Words";

const ROLES: readonly Me["role"][] = ["admin", "operator", "member"];

export function UserTable({ users, mayEdit }: { users: readonly User[]; mayEdit: boolean }) {
  const { t, i18n } = useTranslation();
  const queries = useQueryClient();
  const edit = useMutation({
    mutationFn: ({ id, change }: { id: number; change: { role?: Me["role"]; active?: boolean } }) => changeUser(id, change),
    onSettled: () => queries.invalidateQueries({ queryKey: keys.users }),
  });
  return (
    <div className="scroll">
      {edit.error ? <div className="broken" role="alert" style={{ marginBottom: 8 }}>{asProblem(edit.error).message}</div> : null}
      <table style={{ minWidth: 620 }}>
        <thead><tr><th>{t("accounts.user")}</th><th>{t("accounts.role")}</th><th>{t("accounts.teams")}</th><th className="r">{t("accounts.lastSignIn")}</th><th className="r">{t("accounts.access")}</th></tr></thead>
        <tbody>
          {users.map((user) => (
            <tr key={user.id}>
              <td><b>{user.username}</b>{user.email ? <span className="sm dim"> {user.email}</span> : null}</td>
              <td>
                {mayEdit ? (
                  <select className="field" style={{ height: 24 }} value={user.role} aria-label={t("accounts.roleOf", { user: user.username })} onChange={(event) => edit.mutate({ id: user.id, change: { role: event.target.value as Me["role"] } })}>
                    {ROLES.map((role) => <option key={role} value={role}>{t(`accounts.roles.${role}`)}</option>)}
                  </select>
                ) : t(`accounts.roles.${user.role}`)}
              </td>
              <td>{user.teams.length > 0 ? user.teams.map((team) => team.name).join(", ") : <None />}</td>
              <td className="r nw">{user.last_sign_in_at ? dateTime(user.last_sign_in_at, i18n.language) : <span className="dim">{t("accounts.never")}</span>}</td>
              <td className="r">
                <label className="row" style={{ justifyContent: "flex-end" }}>
                  <input type="checkbox" checked={user.active} disabled={!mayEdit} aria-label={t("accounts.accessOf", { user: user.username })} onChange={(event) => edit.mutate({ id: user.id, change: { active: event.target.checked } })} />
                  <span className={user.active ? "" : "dim"}>{t(user.active ? "accounts.active" : "accounts.blocked")}</span>
                </label>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
