// What can be done to the chosen rows of the job table.
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { JobAct } from "@/api/acting";
import type { Job } from "@/api/types";
import { BULK, canDo } from "./acts";
import { Asking } from "./Asking";

export function BulkBar({ jobs, onClear }: { jobs: readonly Job[]; onClear: () => void }) {
  const { t } = useTranslation();
  const [asked, setAsked] = useState<JobAct | null>(null);
  const fit = (act: JobAct) => jobs.filter((job) => canDo(act, job));
  return (
    <div className="row wrap" role="toolbar" aria-label={t("acting.toolbar")} style={{ gap: 8, marginBottom: 10 }}>
      <span className="sm">{t("acting.chosen", { count: jobs.length })}</span>
      {BULK.map((act) => {
        const count = fit(act).length;
        return count > 0 ? <button key={act} type="button" className="btn sml" onClick={() => setAsked(act)}>{t(`acting.do.${act}`)} ({count})</button> : null;
      })}
      <button type="button" className="btn sml" onClick={onClear}>{t("acting.none")}</button>
      {asked ? <Asking act={asked} jobs={fit(asked)} onClose={() => setAsked(null)} onDone={onClear} /> : null}
    </div>
  );
}
