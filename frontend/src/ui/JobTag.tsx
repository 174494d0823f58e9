// The status of a job as a tag: glyph and word; warm only where a person waits for something.
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { JobStatus } from "@/api/types";

const line = (d: string) => <path d={d} fill="none" stroke="currentColor" strokeWidth="1.3" />;

const SHAPES: Record<JobStatus, ReactNode> = {
  pending: line("M1 1h10M1 13h10M2.5 1v2.500L6 7l3.5-3.500V1M2.5 13v-2.500L6 7l3.5 3.500V13"),
  held: line("M3.500 2v10M8.500 2v10"),
  starting: line("M1 7h7M5.500 3.800 9 7l-3.500 3.200M11 2v10"),
  running: <path d="M2.500 2.500v9l8-4.500z" fill="currentColor" />,
  suspending: line("M2 2v10M6 2v10M9.500 5.500h2"),
  suspended: line("M3.500 2v10M8.500 2v10M1 13h10"),
  preempting: line("M11 4H3.500M6 1 3 4l3 3M1 10.500h10"),
  succeeded: line("M1.500 7.500 4.800 11l6-8"),
  failed: line("M2 3l8 8M10 3l-8 8"),
  cancelled: line("M1.200 7h9.600"),
};

const TONES: Partial<Record<JobStatus, string>> = { pending: "sig", failed: "crit", running: "water", starting: "water" };

export function JobGlyph({ status }: { status: JobStatus }) {
  return (
    <svg className="glyph" width="12" height="14" viewBox="0 0 12 14" aria-hidden="true">
      {SHAPES[status]}
    </svg>
  );
}

export function JobTag({ status, span }: { status: JobStatus; span?: string | undefined }) {
  const { t } = useTranslation();
  return (
    <span className={`tag ${TONES[status] ?? ""}`} data-status={status}>
      <JobGlyph status={status} /> {t(`ui.job.${status}`)} {span}
    </span>
  );
}
