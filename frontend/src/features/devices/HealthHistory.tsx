// How the health of a device changed, newest first, each change with its reason and raw evidence.
import { useInfiniteQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { deviceEventsQuery, type DeviceEvent } from "@/api/inventory";
import { rows } from "@/api/queries";
import { evidenceLines } from "@/features/nodes/pure/facts";
import { dateTime } from "@/lib/format";
import { Answer } from "@/ui/ListLooks";
import { StateWord } from "@/ui/StateGlyph";

function Change({ event }: { event: DeviceEvent }) {
  const { t, i18n } = useTranslation();
  const lines = evidenceLines(event.evidence);
  const notes = [event.reason, event.actor === "" ? "" : t("devices.by", { who: event.actor })].filter((note) => note !== "");
  return (
    <li>
      <div>
        <span className="dim">{dateTime(event.at, i18n.language, true)}</span> <StateWord state={event.to_health} />{" "}
        <span className="dim">{t("devices.before", { state: t(`ui.state.${event.from_health}`) })}</span>
      </div>
      {notes.length > 0 ? <div className="mut">{notes.join(" · ")}</div> : null}
      {lines.length > 0 ? (
        <details>
          <summary>{t("devices.rawEvidence", { count: lines.length })}</summary>
          <div className="evwrap" tabIndex={0}><div className="ev">{lines.join("\n")}</div></div>
        </details>
      ) : null}
    </li>
  );
}

export function HealthHistory({ id }: { id: number }) {
  const { t } = useTranslation();
  const query = useInfiniteQuery(deviceEventsQuery(id));
  const shown = rows(query.data);
  return (
    <Answer query={query} loading={t("devices.readingHistory")}>
      {() => (shown.length === 0 ? <span className="sm dim">{t("devices.noHistory")}</span> : (
        <>
          <ul className="plain sm history">{shown.map((event) => <Change key={event.id} event={event} />)}</ul>
          {query.hasNextPage ? (
            <button type="button" className="btn sml" disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>{t("ui.more")}</button>
          ) : null}
        </>
      ))}
    </Answer>
  );
}
