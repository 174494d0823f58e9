// Silences: what calls nobody until when, who said so and why; making one and ending it.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { endSilence, silenceAlerts } from "@/api/actions";
import { keys } from "@/api/keys";
import { asProblem } from "@/api/problem";
import { silencedAlertsQuery, silencesQuery } from "@/api/queries";
import { meQuery } from "@/api/session";
import type { Alert, NewSilence, Silence } from "@/api/types";
import { dateTime } from "@/lib/format";
import { Confirm } from "@/ui/Dialog";
import { Answer } from "@/ui/ListLooks";
import { Panel } from "@/ui/Panel";
import { AlertSubject, kindName } from "./subject";

const HOURS = [1, 4, 24, 168];
const MINUTES_PER_HOUR = 60;

interface SilenceDialogProps {
  /** One alert, or all of a code. */
  about: Pick<NewSilence, "code" | "subject_type" | "subject_id">;
  onClose: () => void;
}

export function SilenceDialog({ about, onClose }: SilenceDialogProps) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [hours, setHours] = useState(1);
  const act = async (reason: string): Promise<void> => {
    await silenceAlerts({ ...about, minutes: hours * MINUTES_PER_HOUR, reason });
    await client.invalidateQueries({ queryKey: keys.alerts });
  };
  return (
    <Confirm title={about.subject_id ? t("health.silenceTitle") : t("health.silenceKindTitle", { kind: kindName(about.code, t) })} action={t("health.silenceDo")} reason onConfirm={act} onClose={onClose} call="POST /api/v1/alert-silences">
      <p>{t(about.subject_id ? "health.silenceWhat" : "health.silenceKindWhat")}</p>
      <label style={{ display: "grid", gap: 4, marginTop: 12 }}>
        <span className="sm mut">{t("health.silenceFor")}</span>
        <select className="field" value={hours} onChange={(event) => { setHours(Number(event.target.value)); }}>
          {HOURS.map((value) => <option key={value} value={value}>{t("health.silenceHours", { count: value })}</option>)}
        </select>
      </label>
    </Confirm>
  );
}

/** An open alert about the silence's subject, which knows its name. */
const subjectOf = (silence: Silence, open: readonly Alert[]): Alert | undefined =>
  open.find((alert) => alert.subject_type === silence.subject_type && String(alert.subject_id) === String(silence.subject_id));

export function Silences() {
  const { t } = useTranslation();
  const query = useQuery(silencesQuery);
  const open = useQuery(silencedAlertsQuery).data?.results ?? [];
  return (
    <Panel title={t("health.silences")}>
      <Answer query={query} loading={t("health.reading")}>
        {(page) => (page.results.length > 0
          ? <ul className="alerts bare">{page.results.map((one) => <OneSilence key={one.id} silence={one} about={subjectOf(one, open)} />)}</ul>
          : <p className="mut">{t("health.noSilences")}</p>)}
      </Answer>
    </Panel>
  );
}

function OneSilence({ silence, about }: { silence: Silence; about: Alert | undefined }) {
  const { t, i18n } = useTranslation();
  const client = useQueryClient();
  const me = useQuery(meQuery);
  const [error, setError] = useState<unknown>(null);
  const may = me.data?.permissions.includes("alert-handle") ?? false;
  const what = silence.code === "" ? t("health.every") : kindName(silence.code, t);
  const whom = about ? <AlertSubject alert={about} /> : `${silence.subject_type} ${silence.subject_id}`.trim();
  const end = () => {
    endSilence(silence.id).then(() => client.invalidateQueries({ queryKey: keys.alerts }), setError);
  };
  return (
    <li>
      <div>
        <div className="med">{what}{whom === "" ? null : <> · {whom}</>}</div>
        <div className="sm mut">{t("health.silenceUntil", { at: dateTime(silence.until, i18n.language), by: silence.created_by, reason: silence.reason })}</div>
        {error ? <div className="sm" role="alert">{asProblem(error).message}</div> : null}
      </div>
      <button type="button" className="btn sml" disabled={!may} title={may ? undefined : t("health.operatorsOnly")} onClick={end}>{t("health.silenceEnd")}</button>
    </li>
  );
}
