// The key of charts over time: which mark is what.
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

function Mark({ children }: { children: ReactNode }) {
  return <svg width="18" height="10" aria-hidden="true">{children}</svg>;
}

export function ChartKey({ booked, limit }: { booked: boolean; limit: boolean }) {
  const { t } = useTranslation();
  return (
    <div className="chartkey xs mut">
      <span><Mark><path d="M0 5h18" stroke="var(--water)" strokeWidth="2" /></Mark>{t("ui.chart.key.mean")}</span>
      <span><Mark><path d="M0 5h18" stroke="var(--water)" strokeDasharray="3 2" /></Mark>{t("ui.chart.key.p95")}</span>
      <span><Mark><rect width="18" height="10" fill="var(--water)" opacity=".3" /></Mark>{t("ui.chart.key.band")}</span>
      {booked ? <span><Mark><rect width="18" height="10" fill="var(--booked)" opacity=".55" /></Mark>{t("ui.chart.key.booked")}</span> : null}
      {limit ? <span><Mark><path d="M0 5h18" stroke="var(--ink-3)" strokeDasharray="6 3" /></Mark>{t("ui.chart.key.limit")}</span> : null}
      <span><Mark><rect width="18" height="10" fill="url(#stipple)" /></Mark>{t("ui.chart.key.gap")}</span>
    </div>
  );
}
