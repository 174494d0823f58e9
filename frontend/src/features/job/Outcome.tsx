// How a job ended, as one sentence.
import { useTranslation } from "react-i18next";
import type { Job } from "@/api/types";
import { duration } from "@/lib/format";
import { span } from "./facts";

export function outcomeKey(job: Pick<Job, "status" | "exit_class" | "exit_code" | "exit_signal">): string {
  if (job.status === "succeeded") return "succeeded";
  if (job.status === "cancelled") return "cancelled";
  // The class says why; a signal is only how: a time limit ends a program by one.
  if (job.exit_class && job.exit_class !== "exit-code") return job.exit_class;
  if ((job.exit_signal ?? 0) > 0) return "signal";
  return job.exit_code == null ? "unknown" : "exit-code";
}

export function Outcome({ job }: { job: Job }) {
  const { t } = useTranslation();
  const ran = job.finished_at ? span(job, Date.parse(job.finished_at)) : null;
  const sentence = t(`job.outcome.${outcomeKey(job)}`, { code: job.exit_code, signal: job.exit_signal, defaultValue: job.exit_class ?? "" });
  return (
    <section className="panel" style={job.status === "failed" ? { borderTop: "2px solid var(--crit)" } : undefined}>
      <p className="why">{sentence} {ran == null ? null : t("job.outcome.ranFor", { time: duration(ran) })}</p>
      {job.exit_message ? <p className="ev" style={{ marginTop: 10, borderLeftColor: "var(--crit)" }}>{job.exit_message}</p> : null}
    </section>
  );
}
