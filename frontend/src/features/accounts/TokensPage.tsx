// API tokens of the signed-in person: made, shown once, revoked.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { createToken, revokeToken } from "@/api/actions";
import { keys } from "@/api/keys";
import { asProblem, type Problem } from "@/api/problem";
import { tokensQuery } from "@/api/queries";
import { meQuery } from "@/api/session";
import type { Token } from "@/api/types";
import { dateTime } from "@/lib/format";
import { ApiCall, Copyable } from "@/ui/ApiCall";
import { Confirm, Dialog } from "@/ui/Dialog";
import { Answer, Empty } from "@/ui/ListLooks";
import { PageHead } from "@/ui/Panel";
import { None } from "@/ui/Words";

const SCOPES = ["read", "submit", "write"] as const;
const DAYS = [7, 30, 90, 365];

export function TokensPage() {
  const { t } = useTranslation();
  const query = useQuery(tokensQuery);
  const [making, setMaking] = useState(false);
  const [revoking, setRevoking] = useState<Token | null>(null);
  const queries = useQueryClient();
  const revoke = async (id: number) => {
    await revokeToken(id);
    await queries.invalidateQueries({ queryKey: keys.tokens });
  };
  return (
    <div className="page">
      <PageHead title={t("accounts.tokens")} sub={t("accounts.tokensSub")} actions={<>
        <ApiCall call={{ method: "GET", path: "/api/v1/tokens" }} />
        <button type="button" className="btn pri" onClick={() => setMaking(true)}>{t("accounts.newToken")}</button>
      </>} />
      <section className="panel">
        <Answer query={query} loading={t("accounts.reading")}>
          {(page) => (page.results.length > 0 ? <TokenTable tokens={page.results} onRevoke={setRevoking} /> : (
            <Empty title={t("accounts.noTokens")}>{t("accounts.noTokensNext")}<pre className="code">headrace login --url {window.location.origin}</pre></Empty>
          ))}
        </Answer>
      </section>
      {making ? <NewToken onClose={() => setMaking(false)} /> : null}
      {revoking ? (
        <Confirm title={t("accounts.revokeTitle", { name: revoking.name })} action={t("accounts.revoke")} harm call={`DELETE /api/v1/tokens/${revoking.id}`} onConfirm={() => revoke(revoking.id)} onClose={() => setRevoking(null)}>
          {t("accounts.revokeWhat")}
        </Confirm>
      ) : null}
    </div>
  );
}

function TokenTable({ tokens, onRevoke }: { tokens: readonly Token[]; onRevoke: (token: Token) => void }) {
  const { t, i18n } = useTranslation();
  const at = (time: string | null, never: string) => (time ? dateTime(time, i18n.language) : <span className="dim">{never}</span>);
  return (
    <div className="scroll">
      <table style={{ minWidth: 680 }}>
        <thead><tr><th>{t("accounts.name")}</th><th>{t("accounts.scopes")}</th><th>{t("accounts.team")}</th><th className="r">{t("accounts.created")}</th><th className="r">{t("accounts.expires")}</th><th className="r">{t("accounts.lastUsed")}</th><th /></tr></thead>
        <tbody>
          {tokens.map((token) => (
            <tr key={token.id}>
              <td className="b">{token.name}</td>
              <td>{token.scopes.map((scope) => <span key={scope} className="tag" style={{ marginRight: 4 }}>{t(`accounts.scope.${scope}`, { defaultValue: scope })}</span>)}</td>
              <td>{token.team ?? <None />}</td>
              <td className="r nw">{at(token.created_at, "")}</td><td className="r nw">{at(token.expires_at, t("accounts.never"))}</td><td className="r nw">{at(token.last_used_at, t("accounts.never"))}</td>
              <td className="r"><button type="button" className="btn sml" onClick={() => onRevoke(token)}>{t("accounts.revokeAsk")}</button></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function NewToken({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const { data: me } = useQuery(meQuery);
  const [made, setMade] = useState<string | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const make = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const team = String(form.get("team") ?? "");
    const wish = { name: String(form.get("name")).trim(), scopes: SCOPES.filter((scope) => form.getAll("scope").includes(scope)), expires_in_days: Number(form.get("days")), ...(team ? { team } : {}) };
    createToken(wish).then(
      (token) => { setMade(token.token); void queries.invalidateQueries({ queryKey: keys.tokens }); },
      (error: unknown) => setProblem(asProblem(error)),
    );
  };
  return (
    <Dialog title={t("accounts.newToken")} onClose={onClose}>
      {made ? (
        <>
          <p style={{ marginBottom: 8 }}>{t("accounts.copyNow")}</p>
          <Copyable text={made} />
          <p className="sm sig" style={{ marginTop: 8 }}>{t("accounts.shownOnce")}</p>
          <div className="row" style={{ marginTop: 14, justifyContent: "flex-end" }}><button type="button" className="btn pri" onClick={onClose}>{t("accounts.done")}</button></div>
        </>
      ) : (
        <form onSubmit={make} style={{ display: "grid", gap: 12 }}>
          <label style={{ display: "grid", gap: 4 }}><span className="sm mut">{t("accounts.name")}</span><input className="field" name="name" required maxLength={100} placeholder="ci" /></label>
          <fieldset style={{ border: 0, padding: 0, margin: 0 }}>
            <legend className="sm mut">{t("accounts.scopes")}</legend>
            {SCOPES.map((scope) => <label key={scope} className="row" style={{ marginTop: 4 }}><input type="checkbox" name="scope" value={scope} defaultChecked={scope !== "write"} /> {t(`accounts.scope.${scope}`)} <span className="sm dim">{t(`accounts.scopeWhat.${scope}`)}</span></label>)}
          </fieldset>
          {me && me.teams.length > 0 ? (
            <label style={{ display: "grid", gap: 4 }}><span className="sm mut">{t("accounts.onlyTeam")}</span>
              <select className="field" name="team" defaultValue=""><option value="">{t("accounts.allMyTeams")}</option>{me.teams.map((team) => <option key={team.slug} value={team.slug}>{team.name}</option>)}</select>
            </label>
          ) : null}
          <label style={{ display: "grid", gap: 4 }}><span className="sm mut">{t("accounts.expires")}</span>
            <select className="field" name="days" defaultValue={90}>{DAYS.map((days) => <option key={days} value={days}>{t("accounts.days", { count: days })}</option>)}</select>
          </label>
          {problem ? <div className="broken" role="alert">{problem.errors.length > 0 ? problem.errors.map((error) => <div key={error.field}>{error.message}</div>) : problem.message}</div> : null}
          <div className="row" style={{ justifyContent: "flex-end" }}>
            <button type="button" className="btn" onClick={onClose}>{t("ui.leaveIt")}</button>
            <button type="submit" className="btn pri">{t("accounts.create")}</button>
          </div>
        </form>
      )}
    </Dialog>
  );
}
