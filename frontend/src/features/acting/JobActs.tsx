// The buttons of one job that change how it waits: hold, release, requeue, priority.
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { JobAct } from "@/api/acting";
import type { Job } from "@/api/types";
import { canDo } from "./acts";
import { Asking } from "./Asking";

const OFFERED: readonly JobAct[] = ["hold", "release", "requeue", "reprioritise"];

export function JobActs({ job }: { job: Job }) {
  const { t } = useTranslation();
  const [asked, setAsked] = useState<JobAct | null>(null);
  const acts = OFFERED.filter((act) => canDo(act, job) && job.intent === "run");
  return (
    <>
      {acts.map((act) => <button key={act} type="button" className="btn" onClick={() => setAsked(act)}>{t(`acting.do.${act}`)}…</button>)}
      {asked ? <Asking act={asked} jobs={[job]} onClose={() => setAsked(null)} /> : null}
    </>
  );
}
