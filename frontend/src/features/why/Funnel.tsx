// The filter funnel: what each filter left of all nodes.
import { useTranslation } from "react-i18next";
import type { FunnelStep } from "@/api/types";
import { count } from "@/lib/format";
import { useWidth } from "@/lib/useWidth";

const ROW = 30;
const LABELS = 158;
const FIGURES = 100;

/** The funnel starts with all nodes, whether the server names them or only what removed some. */
export function fromAll(steps: readonly FunnelStep[], label: string): readonly FunnelStep[] {
  const first = steps[0];
  return !first || first.removed === 0 ? steps : [{ code: "all", label, removed: 0, left: first.left + first.removed }, ...steps];
}

export function Funnel({ steps: given }: { steps: readonly FunnelStep[] }) {
  const { t } = useTranslation();
  const steps = fromAll(given, t("why.allNodes"));
  const [ref, width] = useWidth<HTMLDivElement>(400);
  const all = Math.max(1, ...steps.map((step) => step.left + step.removed));
  const scale = (value: number) => (value / all) * Math.max(20, width - LABELS - FIGURES);
  return (
    <div ref={ref}>
      <svg width={width} height={steps.length * ROW + 4} role="img" aria-label={t("why.funnelLabel", { count: steps.length })}>
        {steps.map((step, index) => {
          const next = steps[index + 1];
          const label = step.label || step.code;
          const fatal = step.left === 0 && index === steps.length - 1;
          return (
            <g key={`${step.code}-${index}`} transform={`translate(0 ${index * ROW})`} style={fatal ? { fontWeight: 600 } : undefined}>
              <title>{label}</title>
              <text y="16" style={{ fontSize: 12, fill: fatal ? "var(--signal)" : "var(--ink)", fontWeight: fatal ? 600 : 400 }}>{shortened(label)}</text>
              {step.removed > 0 ? (
                <rect x={LABELS + scale(step.left)} y="5" width={Math.max(2, scale(step.removed))} height="14" strokeWidth=".7"
                  fill={fatal ? "url(#hatch-signal)" : "url(#dots)"} stroke={fatal ? "var(--signal)" : "var(--line-strong)"} />
              ) : null}
              <rect x={LABELS} y="5" width={scale(step.left)} height="14" fill="var(--water)" />
              {next ? <path d={`M${LABELS + scale(step.left)} 19L${LABELS + scale(next.left + next.removed)} 35`} stroke="var(--line-strong)" /> : null}
              <text x={width - 48} y="16" textAnchor="end" className="d" style={{ fontSize: 12, ...(fatal ? SIGNAL : {}) }}>{step.removed > 0 ? count(-step.removed) : ""}</text>
              <text x={width} y="16" textAnchor="end" className="k" style={{ fontSize: 13, ...(fatal ? { fill: "var(--signal)" } : {}) }}>{count(step.left)}</text>
            </g>
          );
        })}
      </svg>
    </div>
  );
}

const SIGNAL = { fill: "var(--signal)", fontWeight: 600 };
const LONGEST = 27;

function shortened(label: string): string {
  return label.length > LONGEST ? `${label.slice(0, LONGEST - 1)}…` : label;
}
