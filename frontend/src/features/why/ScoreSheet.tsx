// The score sheet of a decision: who led and by which term, the bars, and every term in plain words beside the runner-up.
import { useTranslation } from "react-i18next";
import type { Candidate, Term } from "@/api/types";
import { count, score, scoreDecimals, weight } from "@/lib/format";
import { decisiveTerm, type SheetRow, sheetRows } from "./sheet";
import { TermBars } from "./TermBars";
import "./why.css";

interface SheetProps { node: string; scorePpm: number | null; terms: readonly Term[]; candidates: number; runnersUp: readonly Candidate[] }

const sumOf = (terms: readonly Term[]) => terms.reduce((sum, term) => sum + term.contribution_ppm, 0);

export function ScoreSheet({ node, scorePpm, terms, candidates, runnersUp }: SheetProps) {
  const other = runnersUp[0] ?? null;
  const total = scorePpm ?? sumOf(terms);
  const rows = sheetRows(terms, other?.terms ?? null);
  const bars = [{ key: "chosen", name: node, terms, score_ppm: total }, ...runnersUp.map((one) => ({ key: one.node, name: one.node_name, terms: one.terms, score_ppm: one.score_ppm }))];
  return (
    <>
      <p className="lead"><Verdict node={node} total={total} candidates={candidates} other={other} rows={rows} /></p>
      <TermBars rows={bars} />
      <Terms node={node} total={total} other={other} rows={rows} />
    </>
  );
}

function Verdict({ node, total, candidates, other, rows }: { node: string; total: number; candidates: number; other: Candidate | null; rows: readonly SheetRow[] }) {
  const { t } = useTranslation();
  if (!other) return <>{t("why.onlyOne", { node })}</>;
  const decimals = scoreDecimals([total, other.score_ppm]);
  const facts = { node, other: other.node_name, count: candidates, candidates: count(candidates), score: score(total, decimals), otherScore: other.score_ppm == null ? t("ui.unknown") : score(other.score_ppm, decimals) };
  const term = decisiveTerm(rows);
  const why = other.score_ppm != null && total === other.score_ppm ? t("why.tie") : term ? t("why.decided", { term: t(`ui.term.${term}`, { defaultValue: term }) }) : "";
  return <>{t("why.best", facts)} {why}</>;
}

function Terms({ node, total, other, rows }: { node: string; total: number; other: Candidate | null; rows: readonly SheetRow[] }) {
  const { t } = useTranslation();
  const decisive = decisiveTerm(rows);
  const decimals = scoreDecimals([total, other?.score_ppm]);
  return (
    <div className="scroll">
      <table className="sheet-table">
        <caption className="visually-hidden">{t("why.sheetLabel", { node })}</caption>
        <thead>
          <tr><th>{t("why.term")}</th><th className="r">{t("why.weight")}</th><th className="r">{node}</th>{other ? <><th className="r">{other.node_name}</th><th className="r">{t("why.lead")}</th></> : null}</tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.term}>
              <td><span className={row.term === decisive ? "b" : "med"}>{t(`ui.term.${row.term}`, { defaultValue: row.term })}</span><div className="sm mut">{t(`why.meaning.${row.term}`, { defaultValue: "" })}</div></td>
              <td className="r">{weight(row.weightPpm)}</td>
              <Points term={row.chosen} />
              {other ? <><Points term={row.other} /><td className={`r ${row.term === decisive ? "b" : ""}`}>{row.leadPpm == null ? t("ui.unknown") : signed(row.leadPpm)}</td></> : null}
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr><td className="b">{t("why.total")}</td><td /><td className="r b">{score(total, decimals)}</td>
            {other ? <><td className="r b">{other.score_ppm == null ? t("ui.unknown") : score(other.score_ppm, decimals)}</td><td className="r b">{other.score_ppm == null ? "" : signed(total - other.score_ppm, decimals)}</td></> : null}</tr>
        </tfoot>
      </table>
      <p className="xs dim">{t("why.sheetNote")}</p>
    </div>
  );
}

const signed = (ppm: number, decimals = 3) => {
  const exact = Math.max(decimals, scoreDecimals([0, ppm]));
  return ppm > 0 ? `+${score(ppm, exact)}` : score(ppm, exact);
};

/** What a node got of a term: the points, and below them the value before its weight. */
function Points({ term }: { term: Term | null }) {
  const { t } = useTranslation();
  if (!term) return <td className="r"><span className="unk">{t("ui.unknown")}</span></td>;
  return <td className="r nw">{score(term.contribution_ppm)}<div className="xs dim">{t("why.ofOne", { value: weight(term.value_ppm) })}</div></td>;
}

/** What each term asks, for whoever reads the bars for the first time. */
export function TermMeanings({ terms }: { terms: readonly Term[] }) {
  const { t } = useTranslation();
  return (
    <details className="meanings">
      <summary>{t("why.meanings")}</summary>
      <dl>{terms.map(({ term }) => <div key={term}><dt>{t(`ui.term.${term}`, { defaultValue: term })}</dt><dd>{t(`why.meaning.${term}`, { defaultValue: "" })}</dd></div>)}</dl>
    </details>
  );
}
