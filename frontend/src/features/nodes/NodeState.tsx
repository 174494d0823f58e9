// The state of a node in words, how old its last report is, and what people must know of it.
import { useTranslation } from "react-i18next";
import type { NodeDetail } from "@/api/types";
import { dateTime, decimal, withUnit } from "@/lib/format";
import { StateWord } from "@/ui/StateGlyph";
import { Known, Unknown } from "@/ui/Words";
import { Ago } from "./Ago";
import { lineOf } from "./pure/facts";
import { useServerNow } from "./useServerNow";

const CLOCK_LIMIT_MS = 50;

/** Surely far, as the server judges it: also where its measurement errs as much as it may. */
function isClockFar(offsetMs: number | null, uncertaintyMs: number | null): boolean {
  return offsetMs !== null && Math.abs(offsetMs) - (uncertaintyMs ?? 0) > CLOCK_LIMIT_MS;
}

export function ReportAge({ at }: { at: string | null }) {
  const now = useServerNow();
  return <Known value={at} format={(value) => <Ago at={value} now={now} />} />;
}

export function ClockOffset({ offsetMs, uncertaintyMs = null }: { offsetMs: number | null; uncertaintyMs?: number | null }) {
  if (offsetMs === null) return <Unknown />;
  const isFar = isClockFar(offsetMs, uncertaintyMs);
  const text = withUnit(`${offsetMs > 0 ? "+" : ""}${decimal(offsetMs, Number.isInteger(offsetMs) ? 0 : 1)}`, "ms");
  const around = uncertaintyMs === null ? "" : ` ± ${withUnit(decimal(uncertaintyMs, 1), "ms")}`;
  return <><span className={isFar ? "sig b" : undefined}>{text}</span><span className="dim">{around}</span></>;
}

export function NodeStateLine({ node }: { node: NodeDetail }) {
  const { t, i18n } = useTranslation();
  const deadline = node.state === "draining" ? node.drain_deadline : null;
  const note = deadline === null ? t(`nodes.note.${node.state}`) : t("nodes.drainsUntil", { time: dateTime(deadline, i18n.language) });
  // The reason of a quarantine is a code of the server, which the note says in words.
  const reason = node.state_reason && node.state !== "quarantined" ? ` · ${t("nodes.reason", { reason: node.state_reason })}` : "";
  return (
    <div className="sheetstate">
      <StateWord state={node.state} />
      <span className="sm mut">{note}{reason} · {t("nodes.lastReport")} <ReportAge at={node.last_report_at} /></span>
    </div>
  );
}

export function NodeWarnings({ node }: { node: NodeDetail }) {
  const { t } = useTranslation();
  const notes = [
    node.isolates_users === false && !node.agentless ? t("nodes.notIsolated") : "",
    node.agentless ? t("nodes.agentless") : "",
    node.remote?.problem ? t("nodes.notSeen", { problem: [node.remote.problem_text, node.remote.problem_detail].filter(Boolean).join(" — ") }) : "",
    node.observe_only ? t("nodes.observeOnly") : "",
    node.simulated ? t("nodes.simulated") : "",
    isClockFar(node.clock_offset_ms, node.clock_uncertainty_ms) ? t("nodes.clockFar") : "",
    ...node.warnings.map(lineOf),
  ].filter((note) => note !== "");
  if (notes.length === 0) return null;
  return (
    <ul className="plain notes" style={{ marginTop: 10 }}>
      {notes.map((note) => <li key={note} className="note">{note}</li>)}
    </ul>
  );
}
