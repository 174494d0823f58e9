// What the nearest nodes lack, where the request is not about memory in pieces: what each has against what is asked.
import { useTranslation } from "react-i18next";
import type { NearCandidate } from "@/api/types";
import { useWidth } from "@/lib/useWidth";
import { amountOf } from "./amount";

const ROW = 34;
const TOP = 26;
const BAR = 16;
const FIGURES = 190;
const NARROW_FIGURES = 96;
const NARROW_PX = 520;
const CHAR_PX = 7.2;

type Measured = NearCandidate & { available: number };

/** Candidates whose shortfall is known, nearest first. */
export function measured(near: readonly NearCandidate[]): Measured[] {
  return near.filter((one): one is Measured => one.needed > 0 && one.available != null).sort((a, b) => a.needed - a.available - (b.needed - b.available));
}

export function Shortfall({ near }: { near: readonly NearCandidate[] }) {
  const { t } = useTranslation();
  const [ref, width] = useWidth<HTMLDivElement>(700);
  const rows = measured(near);
  const isNarrow = width < NARROW_PX;
  const labels = Math.min(140, Math.max(56, ...rows.map((row) => row.node_name.length * CHAR_PX))) + 8;
  const room = Math.max(40, width - labels - (isNarrow ? NARROW_FIGURES : FIGURES));
  const most = Math.max(1, ...rows.map((row) => Math.max(row.needed, row.available)));
  const scale = room / most;
  const first = rows[0];
  if (!first) return null;
  return (
    <div ref={ref}>
      <svg width={width} height={TOP + rows.length * ROW} role="img" aria-label={t("why.shortfallLabel", { rows: rows.map((row) => `${row.node_name}: ${t("why.hasOf", { has: amountOf(row.available, row.unit, t), needed: amountOf(row.needed, row.unit, t) })}`).join("; ") })}>
        <text x={Math.min(labels + first.needed * scale, labels + room)} y="12" textAnchor="end">{t("why.asks")} <tspan className="k">{amountOf(first.needed, first.unit, t)}</tspan></text>
        {rows.map((row, index) => (
          <g key={row.node} transform={`translate(0 ${TOP + index * ROW})`}>
            <text y="13" style={{ fontSize: 12, fill: "var(--ink)", fontWeight: index === 0 ? 600 : 400 }}>{row.node_name}</text>
            <rect x={labels} width={row.available * scale} height={BAR} fill="var(--water)" />
            {row.needed > row.available ? <rect x={labels + row.available * scale} width={(row.needed - row.available) * scale} height={BAR} fill="url(#hatch-signal)" stroke="var(--signal)" strokeWidth=".8" /> : null}
            <Post x={labels + row.needed * scale} />
            <text x={labels + room + 14} y="13"><tspan className="k">{amountOf(row.available, row.unit, t)}</tspan>{isNarrow || row.needed <= row.available ? null : <tspan dx="8" style={{ fill: "var(--signal)", fontWeight: 600 }}>{t("why.short", { size: amountOf(row.needed - row.available, row.unit, t) })}</tspan>}</text>
          </g>
        ))}
      </svg>
    </div>
  );
}

/** The limit that has to be reached. */
function Post({ x }: { x: number }) {
  return <path d={`M${x} -5V${BAR + 5}M${x - 4} -5h8`} stroke="var(--ink)" strokeWidth="2" fill="none" />;
}
