// The nearest candidates, scored as if the last filter let them pass, with what each lacks.
import { useTranslation } from "react-i18next";
import type { NearCandidate } from "@/api/types";
import { exactMemory, pieces, score, scoreDecimals } from "@/lib/format";
import { amountOf } from "./amount";
import { TermMeanings } from "./ScoreSheet";
import { type ScoredRow, TermBars } from "./TermBars";

type Translate = ReturnType<typeof useTranslation>["t"];

/** What a candidate lacks, with its arithmetic. */
export function lack(near: NearCandidate, t: Translate): string | undefined {
  if (near.needed == null) return undefined;
  const write = (value: number) => amountOf(value, near.unit, t);
  if (near.available == null) return t("why.lackUnknown", { needed: write(near.needed) });
  // Rounded, a small shortfall would read as none.
  const hidden = near.unit === "MiB" && near.needed !== near.available && write(near.needed) === write(near.available);
  const exact = hidden ? exactMemory : write;
  const inPieces = near.unit === "MiB" && near.pieces.length > 1 ? t("why.lackPieces", { pieces: pieces(near.pieces) }) : "";
  const short = near.needed > near.available ? t("why.lackShort", { short: write(near.needed - near.available) }) : "";
  return t("why.lack", { needed: exact(near.needed), available: exact(near.available) }) + inPieces + short;
}

export function Candidates({ near }: { near: readonly NearCandidate[] }) {
  const { t } = useTranslation();
  if (near.length === 0) return <p className="mut">{t("why.noCandidate")}</p>;
  const ranked = [...near].sort((a, b) => (b.score_ppm ?? -1) - (a.score_ppm ?? -1));
  const rows: ScoredRow[] = ranked.map((one) => ({ key: one.node, name: one.node_name, terms: one.terms, score_ppm: one.score_ppm, note: lack(one, t) }));
  // Where no node was scored the main picture says already what each lacks.
  if (ranked.every((one) => one.score_ppm == null)) return <p className="mut">{t("why.noneScored", { nodes: ranked.map((one) => one.node_name).join(t("job.comma")) })}</p>;
  const [first, second] = ranked;
  const lead = first?.score_ppm != null && second?.score_ppm != null ? first.score_ppm - second.score_ppm : null;
  return (
    <>
      <TermBars rows={rows} />
      {first && first.terms.length > 0 ? <TermMeanings terms={first.terms} /> : null}
      {lead == null ? null : <div className="sm mut" style={{ marginTop: 4 }}>{lead === 0 ? t("why.tied") : t("why.leads", { node: first?.node_name, by: score(lead, scoreDecimals([0, lead])) })}</div>}
    </>
  );
}
