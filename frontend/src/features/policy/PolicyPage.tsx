// The policy: the document in force, and every version with its author and reason.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { activePolicyQuery, policiesQuery } from "@/api/queries";
import { useMay } from "@/app/context";
import { dateTime } from "@/lib/format";
import { ApiCall } from "@/ui/ApiCall";
import { Answer } from "@/ui/ListLooks";
import { Columns, PageHead, Panel } from "@/ui/Panel";
import { None } from "@/ui/Words";
import "./policy.css";

export function PolicyPage() {
  const { t, i18n } = useTranslation();
  const active = useQuery(activePolicyQuery);
  const versions = useQuery(policiesQuery);
  const mayTry = useMay("what-if");
  const sub = active.data ? t("policy.activeSince", { number: active.data.number, at: dateTime(active.data.created_at, i18n.language), by: active.data.author || t("policy.system") }) : null;
  return (
    <div className="page">
      <PageHead title={t("policy.title")} sub={sub} actions={<>{mayTry ? <Link className="btn" to="/what-if">{t("policy.tryIt")}</Link> : null}<ApiCall call={{ method: "GET", path: "/api/v1/policies/active" }} /></>} />
      <Columns parts={[1.42, 1]}>
        <Panel title={t("policy.document")} meta={t("policy.readOnly")}>
          <Answer query={active} loading={t("policy.reading")}>{(policy) => <Document text={policy.document} />}</Answer>
        </Panel>
        <Panel title={t("policy.versions")}>
          <Answer query={versions} loading={t("policy.reading")}>
            {(page) => (
              <div className="scroll">
                <table>
                  <thead><tr><th className="r">{t("policy.number")}</th><th>{t("policy.author")}</th><th>{t("policy.reason")}</th><th className="r">{t("policy.at")}</th></tr></thead>
                  <tbody>
                    {page.results.map((version) => (
                      <tr key={version.number}>
                        <td className="r b">{version.number}</td>
                        <td className="nw">{version.author || t("policy.system")}</td>
                        <td>{version.reason || <None />} {version.active ? <span className="tag water">{t("policy.inForce")}</span> : null}</td>
                        <td className="r nw dim">{dateTime(version.created_at, i18n.language)}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            )}
          </Answer>
        </Panel>
      </Columns>
    </div>
  );
}

/** YAML with line numbers, as errors of the server name them. */
function Document({ text }: { text: string }) {
  const { t } = useTranslation();
  const lines = text.replace(/\n$/, "").split("\n");
  return (
    <div className="document" tabIndex={0} role="region" aria-label={t("policy.document")}>
      <ol className="lines">{lines.map((line, index) => <li key={index}>{line || " "}</li>)}</ol>
    </div>
  );
}
