// How many starts found their image, and which part of the wait went into fetching.
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { type ImagesSummary, imagesSummaryQuery } from "@/api/images";
import { count, percent, seconds } from "@/lib/format";
import { Answer } from "@/ui/ListLooks";
import { Panel } from "@/ui/Panel";
import { Figure, None } from "@/ui/Words";
import { hitRate } from "./search";

export function Summary({ days }: { days?: number }) {
  const { t } = useTranslation();
  const query = useQuery(imagesSummaryQuery(days ? { days } : {}));
  const note = query.data ? t("images.ofDays", { count: query.data.days }) : null;
  return (
    <Panel title={t("images.cost")} meta={note}>
      <Answer query={query} loading={t("images.reading")}>{(summary) => <Figures summary={summary} />}</Answer>
    </Panel>
  );
}

function Figures({ summary }: { summary: ImagesSummary }) {
  const { t } = useTranslation();
  const rate = hitRate(summary);
  const share = summary.pull_percent;
  return (
    <>
      <div className="facts-row">
        <Fact name={t("images.hitRate")} note={t("images.hitsOf", { hits: count(summary.hits), starts: count(summary.starts) })}>
          {rate == null ? <None /> : <Figure value={percent(rate)} />}
        </Fact>
        <Fact name={t("images.share")} note={t("images.ofStarts", { count: summary.wait_s.count })}>
          {share == null ? <None /> : <Figure value={percent(share)} />}
        </Fact>
      </div>
      <div className="scroll" style={{ marginTop: 12 }}>
        <table style={{ minWidth: 420 }}>
          <thead><tr><th>{t("images.part")}</th><th className="r">{t("images.mean")}</th><th className="r">P50</th><th className="r">P95</th><th className="r">P99</th></tr></thead>
          <tbody>
            <Marks name={t("images.fetching")} marks={summary.pull_s} />
            <Marks name={t("images.wholeWait")} marks={summary.wait_s} />
          </tbody>
        </table>
      </div>
    </>
  );
}

function Fact({ name, note, children }: { name: string; note: string; children: ReactNode }) {
  return <div><div className="sm mut">{name}</div>{children}<div className="xs dim">{note}</div></div>;
}

function Marks({ name, marks }: { name: string; marks: ImagesSummary["pull_s"] }) {
  const cells = [marks.mean, marks.p50, marks.p95, marks.p99];
  return <tr><td>{name}</td>{cells.map((value, index) => <td key={index} className="r nw">{value == null ? <None /> : seconds(value)}</td>)}</tr>;
}
