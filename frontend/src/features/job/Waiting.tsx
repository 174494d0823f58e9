// Why a job waits: the sentence, the picture with its arithmetic, the funnel, the nearest candidates, the smallest changes.
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Change, Explain } from "@/api/types";
import { age, count, shortTime, typeset } from "@/lib/format";
import { useNow } from "@/lib/useNow";
import { Columns, Panel } from "@/ui/Panel";
import { Candidates } from "@/features/why/Candidates";
import { Changes } from "@/features/why/Changes";
import { Estimated } from "./Estimated";
import { FragmentPicture } from "@/features/why/FragmentPicture";
import { Funnel } from "@/features/why/Funnel";
import { measured, Shortfall } from "@/features/why/Shortfall";

interface WaitingProps { explain: Explain; aside: ReactNode; title: string; onTake?: ((change: Change) => void) | undefined }

export function Waiting({ explain, aside, title, onTake }: WaitingProps) {
  const { t } = useTranslation();
  return (
    <>
      <Columns parts={[1.9, 1]}>
        <Panel main title={title} meta={<Decided explain={explain} />}>
          <p className="why">{explain.sentence ? typeset(explain.sentence.text) : t("job.notYetDecided")}</p>
          <Line explain={explain} />
          <Picture explain={explain} />
        </Panel>
        <div className="stack">
          <Panel title={t("job.smallestChange")} meta={t("job.dryRunNote")}><Changes changes={explain.changes} onTake={onTake} /><DoNothing explain={explain} /></Panel>
        </div>
      </Columns>
      <Columns parts={[0.92, 1.2, 0.95]} top={18}>
        <Panel title={t("job.filters")} meta={t("job.filterUnit")}>{explain.funnel.length > 0 ? <Funnel steps={explain.funnel} /> : <p className="mut">{t("job.noFunnel")}</p>}</Panel>
        <Panel title={t("job.nearest")} meta={t("job.nearestNote")}><Candidates near={explain.near} /></Panel>
        <div className="stack">
          <Panel title={t("job.estimate.title")} meta={explain.estimate ? t("job.estimate.note") : null}><Estimated estimate={explain.estimate} unknown={explain.start_unknown} /></Panel>
          {aside}
        </div>
      </Columns>
    </>
  );
}

/** The place in the order of service with its reason, and the place on nodes that is kept for whoever waited long. */
function Line({ explain: { line, reservation } }: { explain: Explain }) {
  const { t, i18n } = useTranslation();
  return (
    <>
      {line ? <p className="sm mut">{typeset(line.sentence.text)}</p> : null}
      {reservation ? <p className="sm">{t("job.reserved", { time: shortTime(reservation.at, i18n.language), nodes: reservation.nodes.map((node) => node.name).join(", ") })}</p> : null}
    </>
  );
}

/** The arithmetic as a picture: devices and pieces where memory is short, else what the nearest nodes have and lack. */
export function Picture({ explain }: { explain: Explain }) {
  if (explain.picture && explain.picture.devices.length > 0) return <div className="scroll" style={{ marginTop: 12 }}><FragmentPicture picture={explain.picture} /></div>;
  return measured(explain.near).length > 0 ? <div style={{ marginTop: 14 }}><Shortfall near={explain.near} /></div> : null;
}

/** The other choice: leave the request as it is, and wait for the estimate. */
function DoNothing({ explain: { estimate } }: { explain: Explain }) {
  const { t, i18n } = useTranslation();
  if (!estimate) return null;
  return (
    <div className="opt">
      <div><span className="med">{t("job.doNothing")}</span><div className="sm mut">{t("job.estimate.waits", { count: estimate.after_jobs.length, node: estimate.node_name })}</div></div>
      <b>{shortTime(estimate.at, i18n.language)}</b>
    </div>
  );
}

function Decided({ explain }: { explain: Explain }) {
  const { t, i18n } = useTranslation();
  const now = useNow();
  if (!explain.decided_at) return null;
  const when = t("job.decided", { age: age(explain.decided_at, now) });
  const cycle = explain.cycle == null ? "" : t("job.inCycle", { cycle: count(explain.cycle) });
  const since = explain.since ? t("job.sameSince", { time: shortTime(explain.since, i18n.language) }) : "";
  return <>{when}{cycle}{since}</>;
}
