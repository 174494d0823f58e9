// The rules of the active policy that make alerts out of readings.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { alertRulesQuery } from "@/api/queries";
import type { AlertRule } from "@/api/types";
import { duration } from "@/lib/format";
import { Answer } from "@/ui/ListLooks";
import { Panel } from "@/ui/Panel";
import { metricValue } from "./subject";

const MS_PER_S = 1000;

export function Rules() {
  const { t } = useTranslation();
  const query = useQuery(alertRulesQuery);
  return (
    <Panel title={t("health.rules")} meta={<Link to="/policy">{t("health.rulesFrom")}</Link>}>
      <Answer query={query} loading={t("health.reading")}>
        {(rules) => (rules.length > 0
          ? <ul className="alerts bare">{rules.map((rule) => <OneRule key={rule.name} rule={rule} />)}</ul>
          : <p className="mut">{t("health.noRules")}</p>)}
      </Answer>
    </Panel>
  );
}

function OneRule({ rule }: { rule: AlertRule }) {
  const { t } = useTranslation();
  const limit = rule.above ?? rule.below;
  const values = {
    metric: t(`health.metric.${rule.metric}`), limit: metricValue(rule.metric, limit, t), clear: metricValue(rule.metric, rule.clear ?? limit, t),
    time: rule.for_s > 0 ? duration(rule.for_s * MS_PER_S) : t("health.ruleAtOnce"),
  };
  const where = [...rule.node_sets, ...rule.models];
  return (
    <li>
      <div>
        <div className="med">{rule.name}</div>
        <div className="sm mut">
          {t(rule.above === null ? "health.ruleBelow" : "health.ruleAbove", values)}{where.length > 0 ? ` · ${t("health.ruleIn", { names: where.join(", ") })}` : ""}
        </div>
      </div>
      <span className="sm dim">{t(`health.severity.${rule.severity}`)}</span>
    </li>
  );
}
