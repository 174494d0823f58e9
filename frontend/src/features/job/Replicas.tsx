// The replicas of a job that has several: where each is, what it holds, how it stands.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { jobPlacementsQuery } from "@/api/queries";
import type { Attempt, Job } from "@/api/types";
import { cpuRanges, typeset } from "@/lib/format";
import { Answer } from "@/ui/ListLooks";
import { Panel } from "@/ui/Panel";
import { None } from "@/ui/Words";
import { Limit } from "./Placed";
import { endOf, ofAttempt, runningCount } from "./replicas";

export function ReplicasPanel({ job }: { job: Job }) {
  const { t } = useTranslation();
  const query = useQuery(jobPlacementsQuery(job.id));
  const shown = ofAttempt(query.data ?? [], job.attempt);
  const meta = query.data ? t("job.replicasRunning", { running: runningCount(shown), all: job.spec.replicas }) : t("job.replicasNote");
  return (
    <Panel title={t("job.replicas")} meta={meta}>
      <Answer query={query} loading={t("job.replicaReading")}>
        {() => (
          <div className="scroll">
            <table className="sm">
              <thead>
                <tr><th className="r">{t("job.replicaChoice")}</th><th>{t("job.node")}</th><th>{t("job.devices")}</th><th>CPU</th><th>{t("jobs.status")}</th></tr>
              </thead>
              <tbody>{shown.map((one) => <Row key={one.id} one={one} />)}</tbody>
            </table>
          </div>
        )}
      </Answer>
    </Panel>
  );
}

function Row({ one }: { one: Attempt }) {
  const { t } = useTranslation();
  const end = endOf(one);
  // A replica books the same of each of its devices.
  const share = one.devices[0];
  return (
    <tr>
      <td className="r">{one.replica}</td>
      <td><Link to="/nodes/$id" params={{ id: one.node.id }}>{one.node.name}</Link></td>
      <td>
        {one.devices.map((device) => `d${device.index}`).join(" ")}
        {share ? <span className="mut"> · <Limit limit={share.memory_limit} /></span> : <None />}
      </td>
      <td>{one.cpus.length > 0 ? cpuRanges(one.cpus) : <None />}</td>
      <td>
        {t(`job.phase.${one.phase}`)}
        {end ? <span className={one.exit_code === 0 ? "mut" : "crit"}> · {t(`job.${end.key}`, end.values)}</span> : null}
        {one.exit_message ? <div className="mut">{typeset(one.exit_message)}</div> : null}
      </td>
    </tr>
  );
}
