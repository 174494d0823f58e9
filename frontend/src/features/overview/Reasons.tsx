// What waiting jobs wait for: one dominant reason each, counted.
import { useTranslation } from "react-i18next";
import type { Overview } from "@/api/types";
import { count } from "@/lib/format";
import { useWidth } from "@/lib/useWidth";

const SHOWN = 6;
const ROW = 26;
const LABELS = 190;
const FIGURES = 50;

export function Reasons({ waiting }: { waiting: Overview["waiting"] }) {
  const { t } = useTranslation();
  const [ref, width] = useWidth<HTMLDivElement>(480);
  const sorted = [...waiting].sort((a, b) => b.count - a.count).slice(0, SHOWN);
  if (sorted.length === 0) return <p className="mut">{t("overview.nobodyWaits")}</p>;
  const most = Math.max(1, ...sorted.map((reason) => reason.count));
  const room = Math.max(20, width - LABELS - FIGURES);
  const word = (code: string) => t(`why.waitsFor.${code}`, { defaultValue: code });
  return (
    <div ref={ref}>
      <svg width={width} height={sorted.length * ROW} role="img" aria-label={sorted.map((reason) => `${word(reason.code)}: ${reason.count}`).join(", ")}>
        {sorted.map((reason, index) => (
          <g key={reason.code} transform={`translate(0 ${index * ROW})`}>
            <text y="16" style={{ fontSize: 12, fill: "var(--ink)" }}>{word(reason.code)}</text>
            <rect x={LABELS + 0.5} y="4.5" width={(reason.count / most) * room} height="15" fill="none" stroke="var(--ink-3)" strokeDasharray="3 2.5" />
            <text x={width} y="16" textAnchor="end" className="k" style={{ fontSize: 13 }}>{count(reason.count)}</text>
          </g>
        ))}
      </svg>
    </div>
  );
}
