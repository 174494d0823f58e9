// Teams with their members; leads and administrators change members here.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { removeMember, setMember } from "@/api/actions";
import { keys } from "@/api/keys";
import { asProblem } from "@/api/problem";
import { membersQuery } from "@/api/queries";
import { meQuery } from "@/api/session";
import type { Member, Team } from "@/api/types";
import { count } from "@/lib/format";
import { Answer } from "@/ui/ListLooks";

export function Teams({ teams }: { teams: readonly Team[] }) {
  const { t } = useTranslation();
  const [open, setOpen] = useState<string | null>(null);
  return (
    <table>
      <thead><tr><th>{t("accounts.team")}</th><th className="r">{t("accounts.members")}</th></tr></thead>
      <tbody>
        {teams.map((team) => [
          <tr key={team.slug}>
            <td><button type="button" className="icb" style={{ padding: 0 }} aria-expanded={open === team.slug} onClick={() => setOpen(open === team.slug ? null : team.slug)}><b>{team.name}</b>{team.slug === team.name ? null : <> <span className="dim">{team.slug}</span></>}</button></td>
            <td className="r"><Link to="/teams/$slug" params={{ slug: team.slug }} aria-label={t("accounts.teamPage", { team: team.name })}>{count(team.members)}</Link></td>
          </tr>,
          open === team.slug ? <tr key={`${team.slug}-members`}><td colSpan={2} style={{ paddingLeft: 16 }}><Members slug={team.slug} /></td></tr> : null,
        ])}
      </tbody>
    </table>
  );
}

export function Members({ slug }: { slug: string }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const query = useQuery(membersQuery(slug));
  const { data: me } = useQuery(meQuery);
  const mayEdit = me?.role === "admin" || (me?.teams.some((team) => team.slug === slug && team.role === "lead") ?? false);
  const edit = useMutation({ mutationFn: (act: () => Promise<unknown>) => act(), onSettled: () => queries.invalidateQueries({ queryKey: keys.teams }) });
  const add = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const name = String(new FormData(form).get("username")).trim();
    edit.mutate(() => setMember(slug, name, "member"), { onSuccess: () => form.reset() });
  };
  return (
    <>
      <Answer query={query} loading={t("accounts.reading")}>
        {(page) => page.results.map((member) => (
          <div key={member.username} className="row" style={{ padding: "3px 0" }}>
            <span style={{ flex: 1 }}>{member.username}</span>
            {mayEdit ? (
              <>
                <select className="field" style={{ height: 24 }} value={member.role} aria-label={t("accounts.roleOf", { user: member.username })} onChange={(event) => { const role = event.target.value as Member["role"]; edit.mutate(() => setMember(slug, member.username, role)); }}>
                  <option value="lead">{t("accounts.teamRole.lead")}</option><option value="member">{t("accounts.teamRole.member")}</option>
                </select>
                <button type="button" className="icb" aria-label={t("accounts.removeMember", { user: member.username })} onClick={() => edit.mutate(() => removeMember(slug, member.username))}>×</button>
              </>
            ) : <span className="dim">{t(`accounts.teamRole.${member.role}`)}</span>}
          </div>
        ))}
      </Answer>
      {mayEdit ? (
        <form className="row" style={{ marginTop: 6 }} onSubmit={add}>
          <input className="field" name="username" required placeholder={t("accounts.username")} aria-label={t("accounts.username")} />
          <button type="submit" className="btn sml">{t("accounts.addMember")}</button>
        </form>
      ) : null}
      {edit.error ? <div className="broken" role="alert" style={{ marginTop: 6 }}>{asProblem(edit.error).message}</div> : null}
    </>
  );
}
