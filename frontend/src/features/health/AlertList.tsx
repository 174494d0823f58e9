// Alerts as lines: glyph, subject, what it says, age, and what an operator may do about it.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { acknowledgeAlert, unacknowledgeAlert } from "@/api/actions";
import { keys } from "@/api/keys";
import { asProblem } from "@/api/problem";
import { meQuery } from "@/api/session";
import type { Alert, NewSilence } from "@/api/types";
import { age, dateTime } from "@/lib/format";
import { useNow } from "@/lib/useNow";
import { StateGlyph } from "@/ui/StateGlyph";
import { SilenceDialog } from "./Silences";
import { AlertSubject, alertGlyph, alertText } from "./subject";
import "./health.css";

export function AlertList({ alerts, handled = false }: { alerts: readonly Alert[]; handled?: boolean }) {
  return <ul className="alerts">{alerts.map((alert) => <AlertLine key={alert.id} alert={alert} handled={handled} />)}</ul>;
}

export function AlertLine({ alert, handled }: { alert: Alert; handled: boolean }) {
  const { t, i18n } = useTranslation();
  const now = useNow();
  return (
    <li>
      <span className="g"><StateGlyph state={alertGlyph(alert)} /></span>
      <div>
        <div className="med"><AlertSubject alert={alert} /></div>
        <div className="sm mut">{alertText(alert, t)}{alert.cleared_at ? ` ${t("health.clearedAt", { at: dateTime(alert.cleared_at, i18n.language) })}` : ""}</div>
        {handled ? <Handling alert={alert} /> : null}
      </div>
      <span className="sm dim nw" title={dateTime(alert.raised_at, i18n.language)}>{age(alert.raised_at, now)}</span>
    </li>
  );
}

/** Who acknowledged it, and the buttons. */
function Handling({ alert }: { alert: Alert }) {
  const { t, i18n } = useTranslation();
  const client = useQueryClient();
  const me = useQuery(meQuery);
  const [asked, setAsked] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const may = me.data?.permissions.includes("alert-handle") ?? false;
  const refused = may ? undefined : t("health.operatorsOnly");
  const act = (doing: Promise<unknown>) => {
    doing.then(() => client.invalidateQueries({ queryKey: keys.alerts }), setError);
  };
  return (
    <div className="handling sm">
      {alert.acknowledged_at ? (
        <>
          <span>{t("health.acknowledgedBy", { by: alert.acknowledged_by, at: dateTime(alert.acknowledged_at, i18n.language) })}{alert.note ? ` · ${alert.note}` : ""}</span>
          <button type="button" className="btn sml" disabled={!may} title={refused} onClick={() => { act(unacknowledgeAlert(alert.id)); }}>{t("health.unacknowledge")}</button>
        </>
      ) : (
        <button type="button" className="btn sml" disabled={!may} title={refused} onClick={() => { act(acknowledgeAlert(alert.id, "")); }}>{t("health.acknowledge")}</button>
      )}
      {alert.silenced ? null : <button type="button" className="btn sml" disabled={!may} title={refused} onClick={() => { setAsked(true); }}>{t("health.silence")}</button>}
      {error ? <span role="alert">{asProblem(error).message}</span> : null}
      {asked ? <SilenceDialog about={{ code: alert.code, subject_type: alert.subject_type as NewSilence["subject_type"], subject_id: alert.subject_id }} onClose={() => { setAsked(false); }} /> : null}
    </div>
  );
}
