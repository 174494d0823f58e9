// Where a job runs and why there: cores, devices with their bookings, the score sheet with the runner-up.
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { Decision, Explain, Job } from "@/api/types";
import { count, cpuRanges, exactMemory, NB, score } from "@/lib/format";
import { Panel } from "@/ui/Panel";
import { None, Unknown } from "@/ui/Words";
import { TermBars } from "@/features/why/TermBars";

export function WherePanel({ job, explain }: { job: Job; explain: Explain | undefined }) {
  const { t } = useTranslation();
  const isolates = explain?.decision?.isolates_users;
  return (
    <Panel title={t(job.finished_at ? "job.whereItRan" : "job.whereItRuns")} meta={job.node ? <Link to="/nodes/$id" params={{ id: job.node.id }}>{t("job.theNode")}</Link> : null}>
      <dl className="facts">
        <dt>{t("job.node")}</dt>
        <dd className="b">{job.node ? job.node.name : <None />}</dd>
        <dt>{t("job.cores")}</dt>
        <dd>{job.cpus && job.cpus.length > 0 ? <><b>{count(job.cpus.length)}</b> <span className="mut">(CPU{NB}{cpuRanges(job.cpus)})</span></> : <None />}</dd>
        <dt>{t("job.devices")}</dt>
        <dd>{job.devices.length > 0 ? job.devices.map((device) => <DeviceLine key={device.id} device={device} />) : <None />}</dd>
        <dt>{t("job.user")}</dt>
        <dd>{job.uid == null ? isolates === false ? t("job.userShared") : <Unknown why={t("job.uidUnknown")} /> : `uid ${job.uid}`}</dd>
      </dl>
      {isolates === false ? <p className="note sm" style={{ marginTop: 10 }}>{t("job.noIsolation")}</p> : null}
    </Panel>
  );
}

function DeviceLine({ device }: { device: Job["devices"][number] }) {
  const { t } = useTranslation();
  const share = device.compute_milli >= 1000 ? t("job.wholeDevice") : `${count(device.compute_milli)} / 1,000 ${t("job.compute")}`;
  return (
    <div>
      <b>d{device.index}</b> {device.model} <span className="mut">· {exactMemory(device.memory_mib)} · {share}</span>
    </div>
  );
}

export function DecisionPanel({ decision, cycle }: { decision: Decision; cycle: number | null }) {
  const { t } = useTranslation();
  const chosen = typeof decision.node === "object" ? decision.node.name : String(decision.node);
  const rows = [
    { key: "chosen", name: chosen, terms: decision.terms, score_ppm: decision.score_ppm },
    ...decision.runners_up.map((other) => ({ key: other.node, name: other.node_name, terms: other.terms, score_ppm: other.score_ppm })),
  ];
  const second = decision.runners_up[0]?.score_ppm;
  return (
    <Panel title={t("job.whyThere")} meta={t("job.ofCandidates", { count: decision.candidates, candidates: count(decision.candidates), cycle: cycle == null ? t("ui.unknown") : count(cycle) })}>
      <TermBars rows={rows} />
      <div className="sm mut" style={{ marginTop: 4 }}>
        {second == null ? t("job.noRunnerUp") : t("why.leads", { node: chosen, by: score(decision.score_ppm - second) })}
      </div>
    </Panel>
  );
}
