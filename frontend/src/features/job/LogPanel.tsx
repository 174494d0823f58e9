// The log of one attempt, live. Following stops when the reader scrolls up, and goes on at the end.
import { useLayoutEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { useJobLog } from "@/api/logs";
import type { Job } from "@/api/types";
import { count } from "@/lib/format";
import { Broken } from "@/ui/ListLooks";
import { Panel } from "@/ui/Panel";
import { isFinal } from "./facts";
import { LogFindings, LogSearchBox } from "./LogSearch";

const AT_END_PX = 24;

export function LogPanel({ job }: { job: Job }) {
  const { t } = useTranslation();
  const [attempt, setAttempt] = useState<number | null>(null);
  const [replica, setReplica] = useState(0);
  const shown = attempt ?? job.attempt;
  const begun = job.started_at !== null || job.attempt > 1 || job.status === "starting";
  const log = useJobLog(job.id, { attempt: shown, replica }, begun);
  const [follow, setFollow] = useState(true);
  const [wanted, setWanted] = useState({ text: "", anyCase: true });
  const box = useRef<HTMLPreElement>(null);

  useLayoutEffect(() => {
    if (follow && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [log.text, follow]);

  const onScroll = () => {
    const element = box.current;
    if (element) setFollow(element.scrollHeight - element.scrollTop - element.clientHeight < AT_END_PX);
  };
  const meta = (
    <span className="row" style={{ gap: 14 }}>
      {log.text ? <span>{t("job.logSize", { bytes: count(log.offset) })}</span> : null}
      <span>{log.complete ? t("job.logComplete") : begun ? t("job.logLive") : ""}</span>
      {job.spec.replicas > 1 ? <Numbers first={0} last={job.spec.replicas - 1} what="replica" shown={replica} onChoose={(chosen) => { setReplica(chosen); setFollow(true); }} /> : null}
      {job.attempt > 1 ? <Numbers first={1} last={job.attempt} what="attempt" shown={shown} onChoose={(chosen) => { setAttempt(chosen); setFollow(true); }} /> : null}
      <label className="row" style={{ gap: 5 }}>
        <input type="checkbox" checked={follow} onChange={(event) => setFollow(event.target.checked)} /> {t("job.follow")}
      </label>
    </span>
  );
  return (
    <Panel title={t("job.log")} meta={meta}>
      {log.text ? <LogSearchBox onSearch={setWanted} /> : null}
      {wanted.text ? <LogFindings key={JSON.stringify([shown, replica, wanted])} place={{ id: job.id, attempt: shown, replica }} wanted={wanted} /> : null}
      {log.dropped ? <p className="sm mut">{t("job.logDropped", { command: `headrace logs ${job.id}${replica > 0 ? ` --replica ${replica}` : ""}` })}</p> : null}
      {log.truncated ? <p className="sm sig">{t("job.logTruncated")}</p> : null}
      {log.text ? (
        <pre ref={box} className="code log" tabIndex={0} aria-label={t("job.log")} onScroll={onScroll}>{log.text}</pre>
      ) : log.problem ? (
        <Broken error={log.problem} what={t("job.logBroken")} />
      ) : (
        <p className="mut">{t(begun ? (log.complete || isFinal(job) ? "job.logEmpty" : "job.logNothingYet") : "job.logNotBegun")}</p>
      )}
      {log.text && log.problem ? <p className="sm sig">{t("job.logRetry")}</p> : null}
    </Panel>
  );
}

interface NumbersProps { first: number; last: number; what: "attempt" | "replica"; shown: number; onChoose: (number: number) => void }

function Numbers({ first, last, what, shown, onChoose }: NumbersProps) {
  const { t } = useTranslation();
  return (
    <select value={shown} aria-label={t(`job.${what}Choice`)} onChange={(event) => onChoose(Number(event.target.value))}>
      {Array.from({ length: last - first + 1 }, (_, index) => index + first).map((number) => <option key={number} value={number}>{t(`job.${what}`, { [what]: number })}</option>)}
    </select>
  );
}
