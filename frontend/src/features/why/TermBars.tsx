// Term bars: the score of each candidate as stacked terms; the black tick is the score.
import { useTranslation } from "react-i18next";
import type { Term } from "@/api/types";
import { fraction, score, scoreDecimals, weight } from "@/lib/format";
import { useWidth } from "@/lib/useWidth";
import { Unknown } from "@/ui/Words";
import { scaleMaxPpm, segments, TERM_FILLS } from "./terms";

export interface ScoredRow { key: string | number; name: string; terms: readonly Term[]; score_ppm: number | null; note?: string | undefined }

const ROW = 33;
const NOTE = 14;
const SCORES = 50;
const LONG_SCORES = 76;
const LABELS = 62;
const TEXT_ROOM = 32;

export function TermKey({ terms }: { terms: readonly Term[] }) {
  const { t } = useTranslation();
  return (
    <div className="xs mut row wrap" style={{ gap: "2px 12px", marginBottom: 7 }}>
      {terms.map((term, index) => (
        <span key={term.term} className="nw row" style={{ gap: 5 }}>
          <svg width="10" height="10" aria-hidden="true"><rect width="10" height="10" fill={TERM_FILLS[index % TERM_FILLS.length]} stroke="var(--line-strong)" strokeWidth=".5" /></svg>
          {t(`ui.term.${term.term}`, { defaultValue: term.term })} <b>{weight(term.weight_ppm)}</b>
        </span>
      ))}
    </div>
  );
}

export function TermBars({ rows }: { rows: readonly ScoredRow[] }) {
  const { t } = useTranslation();
  const [ref, width] = useWidth<HTMLDivElement>(470);
  const max = scaleMaxPpm(rows.map((row) => row.terms));
  const labels = Math.min(150, Math.max(LABELS, ...rows.map((row) => row.name.length * 7.2)));
  const decimals = scoreDecimals(rows.map((row) => row.score_ppm));
  const room = Math.max(40, width - labels - (decimals > 3 ? LONG_SCORES : SCORES));
  const scale = (ppm: number) => (ppm / max) * room;
  const firstTerms = rows.find((row) => row.terms.length > 0)?.terms ?? [];
  const heights = rows.map((row) => ROW + (row.note ? NOTE : 0));
  const top = (index: number) => 2 + heights.slice(0, index).reduce((sum, height) => sum + height, 0);
  return (
    <div ref={ref}>
      <TermKey terms={firstTerms} />
      <svg width={width} height={top(rows.length)} role="img"
        aria-label={t("why.barsLabel", { rows: rows.map((row) => `${row.name} ${row.score_ppm == null ? t("ui.unknown") : score(row.score_ppm, decimals)}`).join(", ") })}>
        {rows.map((row, index) => {
          const parts = segments(row.terms);
          return (
            <g key={row.key} transform={`translate(0 ${top(index)})`}>
              <text y="14" style={{ fill: "var(--ink)", fontSize: 12, fontWeight: index === 0 ? 600 : 400 }}>{row.name}</text>
              <rect x={labels} y="3" width={room} height="17" fill="var(--track)" />
              {parts.map((part) => (
                <g key={part.term}>
                  <rect x={labels + scale(part.fromPpm)} y="3" width={Math.max(0, scale(part.toPpm - part.fromPpm) - 1)} height="17" fill={part.fill} />
                  {scale(part.toPpm - part.fromPpm) > TEXT_ROOM && !part.fill.startsWith("url") ? (
                    <text x={labels + scale(part.fromPpm) + 5} y="15.5" style={{ fill: part.strong ? "var(--on-term-strong)" : "var(--on-term-pale)" }}>{fraction(part.toPpm - part.fromPpm)}</text>
                  ) : null}
                </g>
              ))}
              {parts.length > 0 ? <path d={`M${labels + scale(parts.at(-1)?.toPpm ?? 0)} 0v23`} stroke="var(--ink)" strokeWidth="2" /> : null}
              <text x={width} y="16" textAnchor="end" className="k" style={{ fontSize: 13 }}>{row.score_ppm == null ? "" : score(row.score_ppm, decimals)}</text>
              {row.note ? <text x={labels} y="34" className="d">{row.note}</text> : null}
            </g>
          );
        })}
      </svg>
      {rows.some((row) => row.score_ppm == null) ? <p className="sm mut">{t("why.notScored")} <Unknown /></p> : null}
    </div>
  );
}
