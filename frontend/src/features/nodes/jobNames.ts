// Names of the jobs that an action concerns, as one line.
import type { TFunction } from "i18next";

interface Placed {
  readonly job: number;
  readonly job_name: string | null;
}

/** `name / number` of each; of another team's job only the number is known. */
export function jobNames(t: TFunction, placements: readonly Placed[]): string {
  return placements
    .map(({ job, job_name }) => (job_name === null ? t("nodes.foreignJob", { id: job }) : `${job_name} / ${String(job)}`))
    .join(", ");
}
