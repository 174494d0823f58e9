// Before and after: what it comes to in words, the figures side by side, and every job whose decision differs.
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { JobChange, Outcome, WhatIf } from "@/api/types";
import { count, dateTime, decimal, duration, NB, percent, typeset } from "@/lib/format";
import { Stops } from "@/features/why/Stops";
import { useWidth } from "@/lib/useWidth";
import { Columns, Panel } from "@/ui/Panel";
import { None, Unknown } from "@/ui/Words";
import { change, countVerdicts, type Pair, queuePairs, reasonPairs, verdictOf, waitsIn } from "./compare";

export function Result({ answer }: { answer: WhatIf }) {
  const { t, i18n } = useTranslation();
  const { before, after } = answer;
  const most = Math.max(before.placed + waitsIn(before), after.placed + waitsIn(after));
  const from = answer.recording === null ? t("whatif.ofNow", { at: dateTime(answer.at, i18n.language) }) : t("whatif.ofRecording", { id: String(answer.recording), at: dateTime(answer.at, i18n.language) });
  return (
    <div className="stack">
      <Panel main title={t("whatif.result")} meta={from}>
        <p className="why"><Said answer={answer} /></p>
        {answer.notes.map((note) => <p key={note.code} className="sig">{typeset(note.text)}</p>)}
        <Columns parts={[1, 1]} top={14}>
          <Side title={t("whatif.before")} outcome={before} most={most} />
          <Side title={t("whatif.after")} outcome={after} most={most} other={before} />
        </Columns>
      </Panel>
      <Columns parts={[1, 1]}>
        <Panel title={t("whatif.figures")}><Figures before={before} after={after} /></Panel>
        <Panel title={t("whatif.reasons")} meta={t("whatif.reasonsNote")}><Reasons before={before} after={after} /></Panel>
      </Columns>
      <Panel title={t("whatif.changed")} meta={t("whatif.changedOf", { count: answer.changes_total, jobs: count(answer.changes_total) })}>
        <Changed changes={answer.changes} total={answer.changes_total} />
      </Panel>
    </div>
  );
}

function Said({ answer }: { answer: WhatIf }) {
  const { t } = useTranslation();
  if (answer.changes_total === 0) return <>{t("whatif.saidNothing")}</>;
  const more = answer.after.placed - answer.before.placed;
  const head = more === 0 ? t("whatif.saidSame", { count: answer.after.placed }) : t(more > 0 ? "whatif.saidMore" : "whatif.saidFewer", { count: Math.abs(more) });
  const { starts, waits, moves } = countVerdicts(answer.changes.filter((job) => job.job !== null));
  const supposed = answer.changes.filter((job) => job.job === null && job.after).length;
  const parts = [
    supposed > 0 ? t("whatif.saidSupposed", { count: supposed }) : "",
    starts > 0 ? t("whatif.saidStarts", { count: starts }) : "", waits > 0 ? t("whatif.saidWaits", { count: waits }) : "", moves > 0 ? t("whatif.saidMoves", { count: moves }) : "",
  ].filter(Boolean);
  return <>{head}{parts.length > 0 ? ` ${parts.join(t("job.comma"))}${t("overview.stop")}` : null}</>;
}

const BAR = 22;

/** One outcome on the same scale as the other: placed filled, refused the dashed room behind. */
function Side({ title, outcome, most, other }: { title: string; outcome: Outcome; most: number; other?: Outcome }) {
  const { t } = useTranslation();
  const [ref, width] = useWidth<HTMLDivElement>(380);
  const scale = most > 0 ? width / most : 0;
  const placed = outcome.placed * scale;
  return (
    <div ref={ref}>
      <h3>{title} <span className="mut" style={{ fontWeight: 400 }}>{t("whatif.considered", { count: outcome.considered })}</span></h3>
      <svg width={width} height={BAR + 8} style={{ marginTop: 6 }} role="img" aria-label={t("whatif.sideLabel", { side: title, placed: count(outcome.placed), refused: count(waitsIn(outcome)) })}>
        <rect y="4" width={width} height={BAR} fill="var(--track)" />
        <rect x={placed + 0.5} y="4.5" width={Math.max(0, waitsIn(outcome) * scale - 1)} height={BAR - 1} fill="none" stroke="var(--ink-3)" strokeDasharray="3 2.500" />
        <rect y="4" width={placed} height={BAR} fill="var(--water)" />
        {other ? <path d={`M${other.placed * scale} 0v${BAR + 8}`} stroke="var(--ink)" strokeWidth="2" strokeDasharray="3 2" /> : null}
      </svg>
      <div className="row wrap" style={{ gap: "2px 18px" }}>
        <span><b>{count(outcome.placed)}</b> <span className="mut">{t("whatif.placed")}</span></span>
        <span><b>{count(waitsIn(outcome))}</b> <span className="mut">{t("whatif.refused")}</span></span>
        {outcome.exhausted ? null : <span className="sig sm">{t("whatif.cut")}</span>}
        {other ? <span className="xs dim">{t("whatif.dashed")}</span> : null}
      </div>
    </div>
  );
}

type Write = (value: number) => string;

function Compared({ head, rows }: { head: string; rows: readonly { pair: Pair; label: ReactNode; write: Write; unit?: string }[] }) {
  const { t } = useTranslation();
  return (
    <table>
      <thead><tr><th>{head}</th><th className="r">{t("whatif.before")}</th><th className="r">{t("whatif.after")}</th><th className="r">{t("whatif.change")}</th></tr></thead>
      <tbody>
        {rows.map(({ pair, label, write, unit }) => (
          <tr key={pair.name}>
            <td>{label}</td><td className="r nw">{pair.before === null ? <Unknown /> : write(pair.before)}</td><td className="r nw b">{pair.after === null ? <Unknown /> : write(pair.after)}</td>
            <td className="r nw"><Delta value={change(pair)} write={unit === "pp" ? points : write} /></td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const points: Write = (value) => `${decimal(value, 1)}${NB}pp`;

/** The change with its direction as a shape; whether it is good depends on the figure, so it has no colour. */
function Delta({ value, write }: { value: number | null; write: Write }) {
  const { t } = useTranslation();
  if (value === null) return <Unknown />;
  if (value === 0) return <span className="dim">{t("whatif.same0")}</span>;
  return <><span aria-hidden="true">{value > 0 ? "▴" : "▾"}</span> {value > 0 ? "+" : ""}{write(value)}</>;
}

function Figures({ before, after }: { before: Outcome; after: Outcome }) {
  const { t } = useTranslation();
  const row = (name: string, of: (outcome: Outcome) => number | null, write: Write, unit?: string) => ({ pair: { name, before: of(before), after: of(after) }, label: t(`whatif.figure.${name}`), write, ...(unit ? { unit } : {}) });
  const rows = [
    row("placed", (outcome) => outcome.placed, count), row("refused", waitsIn, count),
    row("devices", (outcome) => outcome.booked_percent.devices, percent, "pp"), row("cores", (outcome) => outcome.booked_percent.cores, percent, "pp"),
    ...queuePairs(before, after).map((pair) => ({ pair, label: t("whatif.startsIn", { queue: pair.name }), write: count })),
    row("wall", (outcome) => outcome.wall_ms, (value) => duration(value)),
  ];
  return <Compared head={t("whatif.of")} rows={rows} />;
}

function Reasons({ before, after }: { before: Outcome; after: Outcome }) {
  const { t } = useTranslation();
  const pairs = reasonPairs(before, after);
  if (pairs.length === 0) return <p className="mut">{t("whatif.nobodyWaits")}</p>;
  const texts = new Map([...before.reasons, ...after.reasons].map((reason) => [reason.code, reason.text]));
  return <Compared head={t("whatif.waitFor")} rows={pairs.map((pair) => ({ pair, label: t(`why.waitsFor.${pair.name}`, { defaultValue: texts.get(pair.name) ?? pair.name }), write: count }))} />;
}

function Changed({ changes, total }: { changes: readonly JobChange[]; total: number }) {
  const { t } = useTranslation();
  if (changes.length === 0) return <p className="mut">{t("whatif.noneChanged")}</p>;
  return (
    <>
      <div className="scroll" style={{ maxHeight: 520, overflowY: "auto" }} tabIndex={0} role="region" aria-label={t("whatif.changed")}>
        <table style={{ minWidth: 640 }}>
          <thead><tr><th>{t("jobs.job")}</th><th>{t("jobs.queue")}</th><th>{t("whatif.becomes")}</th><th>{t("whatif.before")}</th><th>{t("whatif.after")}</th></tr></thead>
          <tbody>
            {changes.map((job, index) => (
              <tr key={job.job ?? `new-${index}`}>
                <td>{job.job === null ? <>{job.name || t("whatif.unnamed")} <span className="tag water">{t("whatif.supposed")}</span></> : <Link to="/jobs/$id" params={{ id: job.job }}>{job.name || "#"}{job.name ? ` / ${job.job}` : job.job}</Link>}</td>
                <td className="nw">{job.queue}</td>
                <td className="nw med">{t(`whatif.verdict.${verdictOf(job)}`)}</td>
                <td>{job.job === null ? <span className="dim">{t("whatif.notThere")}</span> : <Decision place={job.before} reason={job.reason_before} />}</td>
                <td><Decision place={job.after} reason={job.reason_after} /><Starts job={job} /><Stops jobs={job.stops} /></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {total > changes.length ? <p className="sm mut" style={{ marginTop: 6 }}>{t("whatif.firstOnly", { count: changes.length, total: count(total) })}</p> : null}
    </>
  );
}

/** When a job that waits after the edits could start, or why nobody knows. */
function Starts({ job: { start, start_unknown: unknown } }: { job: JobChange }) {
  const { t, i18n } = useTranslation();
  if (unknown) return <div className="xs dim" title={typeset(unknown.text)}>{t("whatif.startUnknown")}</div>;
  if (!start) return null;
  const facts = { at: dateTime(start.at, i18n.language), node: start.node_name };
  return <div className="xs dim">{t(start.is_earliest ? "whatif.startEarliest" : "whatif.startAt", facts)}</div>;
}

function Decision({ place, reason }: { place: JobChange["before"]; reason: JobChange["reason_before"] }) {
  const { t } = useTranslation();
  if (place) return <>{t("whatif.on")} <b>{place.node_name}</b></>;
  if (!reason) return <None />;
  return <span className="mut" title={typeset(reason.text)}>{t("whatif.waitsFor", { what: t(`why.waitsFor.${reason.code}`, { defaultValue: typeset(reason.text) }) })}</span>;
}
