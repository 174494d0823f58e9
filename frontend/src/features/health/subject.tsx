// Who an alert is about, as a link, and what it says in words.
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Alert } from "@/api/types";
import { decimal, withUnit } from "@/lib/format";
import type { StateName } from "@/ui/StateGlyph";

type Translate = ReturnType<typeof useTranslation>["t"];

const GLYPHS: Record<string, StateName> = {
  "node-silent": "silent", "node-lost": "missing", "duplicate-machine": "quarantined", "device-quarantined": "quarantined",
  "device-missing": "missing", "device-unreadable": "unknown", "device-recovered": "recovered",
};

export function alertGlyph(alert: Pick<Alert, "code" | "severity">): StateName {
  return GLYPHS[alert.code] ?? (alert.severity === "critical" ? "quarantined" : "suspect");
}

const RULE = "rule:";

/** What alerts of a code have in common, in two or three words; rules are known by their name. */
export function kindName(code: string, t: Translate): string {
  return code.startsWith(RULE) ? t("health.ruleKind", { rule: code.slice(RULE.length) }) : t(`health.kind.${code}`, { defaultValue: code });
}

const MICROSECONDS_PER_MS = 1000;

/** A value of a rule's metric with its unit, which the metric's name ends with. */
export function metricValue(metric: string, value: unknown, t: Translate): string {
  if (typeof value !== "number") return t("ui.unknown");
  return metric.endsWith("-c") ? withUnit(value, "°C") : withUnit(value, "%");
}

/** The sentence of an alert; codes the console does not know yet are shown as they are. */
export function alertText(alert: Pick<Alert, "code" | "details">, t: Translate): string {
  const { offset_us: offset, reason, times, rule, metric, value, limit } = alert.details;
  if (typeof rule === "string" && typeof metric === "string") {
    return t("health.rule", { rule, metric: t(`health.metric.${metric}`, { defaultValue: metric }), value: metricValue(metric, value, t), limit: metricValue(metric, limit, t) });
  }
  const values = {
    offset: typeof offset === "number" ? withUnit(decimal(offset / MICROSECONDS_PER_MS, 0), "ms") : t("ui.unknown"),
    reason: typeof reason === "string" && reason !== "" ? reason : t("ui.unknown"),
    times: typeof times === "number" ? times : t("ui.unknown"),
    defaultValue: alert.code,
  };
  return t(`health.code.${alert.code}`, values);
}

export function AlertSubject({ alert }: { alert: Alert }): ReactNode {
  const { t } = useTranslation();
  const { name, node, index, parent_index: parent } = alert.details;
  const id = Number(alert.subject_id);
  const called = typeof name === "string" ? name : `#${alert.subject_id}`;
  if (alert.subject_type === "node") return <Link to="/nodes/$id" params={{ id }}>{typeof name === "string" ? name : t("health.node", { id: String(id) })}</Link>;
  if (alert.subject_type === "job") return <Link to="/jobs/$id" params={{ id }}>{called}</Link>;
  if (alert.subject_type === "device" && typeof name === "string" && typeof index === "number") {
    const within = typeof parent === "number" ? `${String(parent)}/${String(index)}` : String(index);
    return <Link to="/map" search={{ device: `${name}.${within}` }}>{t("health.device", { node: name, index: within })}</Link>;
  }
  if (alert.subject_type === "device" && typeof node === "number") {
    return <Link to="/nodes/$id" params={{ id: node }}>{t("health.device", { node: typeof name === "string" ? name : t("health.node", { id: String(node) }), index: typeof index === "number" ? index : "?" })}</Link>;
  }
  return alert.subject_type === "cluster" ? <>{t("health.cluster")}</> : <>{alert.subject_type} {called}</>;
}
