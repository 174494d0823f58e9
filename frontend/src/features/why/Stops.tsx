// The jobs that would be asked to leave for another one; those of other teams are not named by the server.
import { useTranslation } from "react-i18next";
import type { JobChange } from "@/api/types";
import { JobLink } from "@/features/nodes/JobLink";

const NAMED = 8;

export function Stops({ jobs }: { jobs: JobChange["stops"] }) {
  const { t } = useTranslation();
  if (jobs.length === 0) return null;
  return (
    <p className="sm">
      <span className="mut">{t("why.stops")}</span>{" "}
      {jobs.slice(0, NAMED).map(({ job, name }, index) => (
        <span key={job}>{index > 0 ? t("job.comma") : ""}<JobLink id={job} name={name} /></span>
      ))}
      {jobs.length > NAMED ? ` ${t("job.estimate.more", { count: jobs.length - NAMED })}` : null}
    </p>
  );
}
