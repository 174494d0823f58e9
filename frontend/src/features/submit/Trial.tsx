// What the dry run said: where the job would go, or why it would wait. Nothing was submitted or booked.
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { Change, DryRun } from "@/api/types";
import { count, cpuRanges, exactMemory, NB, typeset } from "@/lib/format";
import { Candidates } from "@/features/why/Candidates";
import { Picture } from "@/features/job/Waiting";
import { Changes } from "@/features/why/Changes";
import { Funnel } from "@/features/why/Funnel";
import { Stops } from "@/features/why/Stops";
import { ScoreSheet } from "@/features/why/ScoreSheet";
import { Panel } from "@/ui/Panel";
import { None } from "@/ui/Words";

interface TrialProps { tried: { answer: DryRun } | null; old: boolean; onTake: (change: Change) => void }

export function Trial({ tried, old, onTake }: TrialProps) {
  const { t } = useTranslation();
  if (!tried) {
    return <Panel title={t("submit.trial")} meta={t("submit.trialNote")}><p className="mut">{t("submit.trialLater")}</p></Panel>;
  }
  const { placement, refusal, takeover, array } = tried.answer;
  return (
    <div aria-live="polite" style={{ opacity: old ? 0.6 : 1 }}>
      {old ? <p className="sm sig b" style={{ marginBottom: 8 }}>{t("submit.trialOld")}</p> : null}
      {array ? <p className="med" style={{ marginBottom: 8 }}>{typeset(array.sentence.text)}</p> : null}
      {placement ? <Goes placement={placement} /> : null}
      {refusal ? <Waits refusal={refusal} stops={takeover?.stops ?? []} onTake={onTake} /> : null}
      {!placement && !refusal ? <p className="mut">{t("submit.trialNothing")}</p> : null}
    </div>
  );
}

function Goes({ placement }: { placement: NonNullable<DryRun["placement"]> }) {
  const { t } = useTranslation();
  return (
    <Panel title={t("submit.goes")} meta={t("submit.trialNote")}>
      <p className="why">{t("submit.goesTo", { node: placement.nodes.map((node) => node.name).join(t("job.comma")) })}</p>
      <dl className="facts" style={{ margin: "10px 0 12px" }}>
        <dt>{t("job.node")}</dt>
        <dd>{placement.nodes.map((node) => <div key={node.id}><Link to="/nodes/$id" params={{ id: node.id }}>{node.name}</Link></div>)}</dd>
        <dt>{t("job.cores")}</dt>
        <dd>{placement.cpus.length > 0 ? <><b>{count(placement.cpus.length)}</b> <span className="mut">(CPU{NB}{cpuRanges(placement.cpus)})</span></> : <None />}</dd>
        <dt>{t("job.devices")}</dt>
        <dd>{placement.devices.length > 0 ? placement.devices.map((device) => <div key={device.id}><b>d{device.index}</b> {device.model} <span className="mut">· {exactMemory(device.memory_mib)}</span></div>) : <None />}</dd>
      </dl>
      {placement.terms.length > 0 ? (
        <ScoreSheet node={placement.node_name} scorePpm={placement.score_ppm} terms={placement.terms} candidates={placement.candidates} runnersUp={placement.runners_up} />
      ) : null}
    </Panel>
  );
}

interface WaitsProps { refusal: NonNullable<DryRun["refusal"]>; stops: NonNullable<DryRun["takeover"]>["stops"]; onTake: (change: Change) => void }

function Waits({ refusal, stops, onTake }: WaitsProps) {
  const { t } = useTranslation();
  return (
    <div className="stack">
      <Panel main title={t("submit.waits")} meta={t("submit.trialNote")}>
        {refusal.sentence ? <p className="why">{typeset(refusal.sentence.text)}</p> : null}
        {refusal.start_unknown ? <p className="sm mut">{typeset(refusal.start_unknown.text)}</p> : null}
        <Stops jobs={stops} />
        <Picture explain={refusal} />
      </Panel>
      <Panel title={t("job.smallestChange")} meta={t("job.dryRunNote")}><Changes changes={refusal.changes} onTake={onTake} takeWord={t("submit.take")} /></Panel>
      {refusal.funnel.length > 0 ? <Panel title={t("job.filters")} meta={t("job.filterUnit")}><Funnel steps={refusal.funnel} /></Panel> : null}
      {refusal.near.length > 0 ? <Panel title={t("job.nearest")}><Candidates near={refusal.near} /></Panel> : null}
    </div>
  );
}
