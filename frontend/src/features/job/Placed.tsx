// Where a job runs and why there: cores, devices with their bookings, the score sheet with the runner-up.
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { Decision, Explain, Job } from "@/api/types";
import { count, cpuRanges, exactMemory, NB } from "@/lib/format";
import { Panel } from "@/ui/Panel";
import { None, Unknown } from "@/ui/Words";
import { ScoreSheet } from "@/features/why/ScoreSheet";

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
        <dt>{t("job.hostMemory")}</dt>
        <dd>{explain?.decision ? <Limit limit={explain.decision.host_memory_limit} /> : <Unknown />}</dd>
        <dt>{t("job.user")}</dt>
        <dd>{job.uid == null ? isolates === false ? t("job.userShared") : <Unknown why={t("job.uidUnknown")} /> : `uid ${job.uid}`}</dd>
      </dl>
      {isolates === false ? <p className="note sm" style={{ marginTop: 10 }}>{t("job.noIsolation")}</p> : null}
    </Panel>
  );
}

/** What keeps the job within the memory that it booked. */
export function Limit({ limit }: { limit: Job["devices"][number]["memory_limit"] | null }) {
  const { t } = useTranslation();
  if (limit === null) return <Unknown why={t("ui.limitUnknown")} />;
  return <span title={t(`ui.limitWhy.${limit}`)}>{t(`ui.limit.${limit}`)}</span>;
}

function DeviceLine({ device }: { device: Job["devices"][number] }) {
  const { t } = useTranslation();
  const share = device.compute_milli >= 1000 ? t("job.wholeDevice") : `${count(device.compute_milli)} / 1,000 ${t("job.compute")}`;
  return (
    <div>
      <b>d{device.index}</b> {device.model} <span className="mut">· {exactMemory(device.memory_mib)} · {share} · <Limit limit={device.memory_limit} /></span>
    </div>
  );
}

export function DecisionPanel({ decision, cycle }: { decision: Decision; cycle: number | null }) {
  const { t } = useTranslation();
  return (
    <Panel title={t("job.whyThere")} meta={cycle == null ? null : t("job.cycleNumber", { cycle: count(cycle) })}>
      <ScoreSheet node={decision.node.name} scorePpm={decision.score_ppm} terms={decision.terms} candidates={decision.candidates} runnersUp={decision.runners_up} />
    </Panel>
  );
}
