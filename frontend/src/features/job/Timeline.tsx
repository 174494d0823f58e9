// What happened to a job, newest last.
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { jobEventsQuery } from "@/api/queries";
import type { JobEvent, JobStatus } from "@/api/types";
import { clockTime, dateTime, typeset } from "@/lib/format";
import { JobGlyph } from "@/ui/JobTag";
import { Answer } from "@/ui/ListLooks";
import { Panel } from "@/ui/Panel";

export function Timeline({ id }: { id: number }) {
  const { t, i18n } = useTranslation();
  const query = useQuery(jobEventsQuery(id));
  return (
    <Panel title={t("job.timeline")} meta={Intl.DateTimeFormat().resolvedOptions().timeZone}>
      <Answer query={query} loading={t("job.readingEvents")}>
        {(events) => (
          <ol className="timeline">
            {[...events].sort((a, b) => a.at.localeCompare(b.at)).map((event, index) => <Step key={`${event.at}-${index}`} event={event} language={i18n.language} />)}
          </ol>
        )}
      </Answer>
    </Panel>
  );
}

function Step({ event, language }: { event: JobEvent; language: string }) {
  const { t } = useTranslation();
  return (
    <li>
      <time className="dim sm nw" dateTime={event.at} title={dateTime(event.at, language)}>{clockTime(event.at, language)}</time>
      <span className="mut">{event.to_status ? <JobGlyph status={event.to_status as JobStatus} /> : null}</span>
      <div>
        <span className="med">{typeset(event.text || event.code)}</span>
        <div className="sm mut">
          {event.to_status && event.to_status !== event.from_status ? t(`ui.job.${event.to_status}`, { defaultValue: event.to_status }) : null}
          {event.attempt > 1 ? ` · ${t("job.attempt", { attempt: event.attempt })}` : null}
          {event.actor ? ` · ${event.actor}` : null}
        </div>
      </div>
    </li>
  );
}
