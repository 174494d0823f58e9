// Arrays with live tasks: one row each, with how many tasks stand where.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { keys } from "@/api/keys";
import { arraysQuery, cancelArray, type JobArray } from "@/api/quotas";
import type { JobStatus } from "@/api/types";
import { count } from "@/lib/format";
import { Confirm } from "@/ui/Dialog";
import { JobGlyph } from "@/ui/JobTag";
import { Panel } from "@/ui/Panel";

/** Nothing while there is none. */
export function Arrays() {
  const { t } = useTranslation();
  const { data } = useQuery(arraysQuery);
  const [ending, setEnding] = useState<JobArray | null>(null);
  if (!data || data.length === 0) return null;
  return (
    <Panel title={t("arrays.title")}>
      <div className="scroll">
        <table>
          <thead><tr><th>{t("arrays.array")}</th><th>{t("jobs.queue")}</th><th>{t("jobs.owner")}</th><th className="r">{t("arrays.tasks")}</th><th className="r">{t("arrays.atOnce")}</th><th>{t("arrays.counts")}</th><th /></tr></thead>
          <tbody>
            {data.map((array) => (
              <tr key={array.id}>
                <td><Link to="/jobs" search={{ array: String(array.id) }} className="med">{array.name}</Link> <span className="dim xs">{array.id}</span></td>
                <td>{array.queue}</td>
                <td>{array.owner} <span className="dim">· {array.team}</span></td>
                <td className="r">{count(array.tasks)}</td>
                <td className="r">{count(array.at_once ?? array.tasks)}</td>
                <td><Counts array={array} /></td>
                <td className="r"><button type="button" className="btn sml" aria-label={t("arrays.cancelOne", { array: array.name })} onClick={() => setEnding(array)}>{t("job.cancel")}</button></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {ending ? <CancelArray array={ending} onClose={() => setEnding(null)} /> : null}
    </Panel>
  );
}

function Counts({ array }: { array: JobArray }) {
  const { t } = useTranslation();
  const found = Object.entries(array.counts).filter(([, tasks]) => tasks > 0) as [JobStatus, number][];
  return (
    <span className="row wrap" style={{ gap: "2px 12px" }}>
      {found.map(([status, tasks]) => <span key={status} className="nw"><JobGlyph status={status} /> {t(`ui.job.${status}`)} <b>{count(tasks)}</b></span>)}
    </span>
  );
}

function CancelArray({ array, onClose }: { array: JobArray; onClose: () => void }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const cancel = async () => {
    await cancelArray(array.id);
    await queries.invalidateQueries({ queryKey: keys.jobs() });
  };
  return (
    <Confirm title={t("arrays.cancelOne", { array: array.name })} action={t("arrays.cancelIt")} harm call={`POST /api/v1/job-arrays/${array.id}/cancel`} onConfirm={cancel} onClose={onClose}>
      {t("arrays.cancelEffect", { owner: array.owner })}
    </Confirm>
  );
}
