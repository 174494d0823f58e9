// When jobs that can wait for a quieter time may start: now or not, and the coming windows in the reader's zone.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { valleyQuery } from "@/api/quotas";
import { dateTime } from "@/lib/format";
import { Answer } from "@/ui/ListLooks";
import { Panel } from "@/ui/Panel";

const MINUTE_S = 60;

export function ValleyPanel() {
  const { t, i18n } = useTranslation();
  const query = useQuery(valleyQuery);
  const at = (time: string) => dateTime(time, i18n.language);
  return (
    <Panel title={t("quotas.valley.title")} meta={<Link to="/calendar">{t("app.nav.calendar")}</Link>}>
      <Answer query={query} loading={t("quotas.valley.reading")}>
        {(valley) => (
          <>
            <p><b>{t(valley.open ? `quotas.valley.${valley.because ?? "window-opened"}` : "quotas.valley.closed")}</b></p>
            <p className="mut sm">{t("quotas.valley.rule", { from: valley.from, to: valley.to, zone: valley.time_zone, percent: valley.early_below_percent, minutes: valley.early_after_s / MINUTE_S })}</p>
            {!valley.open && valley.early_at ? <p className="sm">{t("quotas.valley.early", { at: at(valley.early_at) })}</p> : null}
            <ol className="sm">{valley.windows.map((window) => <li key={window.opens_at}>{at(window.opens_at)} – {at(window.closes_at)}</li>)}</ol>
          </>
        )}
      </Answer>
    </Panel>
  );
}
