// Alerts as lines: glyph, subject, what it says, age.
import { useTranslation } from "react-i18next";
import type { Alert } from "@/api/types";
import { age, dateTime } from "@/lib/format";
import { useNow } from "@/lib/useNow";
import { StateGlyph } from "@/ui/StateGlyph";
import { AlertSubject, alertGlyph, alertText } from "./subject";
import "./health.css";

export function AlertList({ alerts }: { alerts: readonly Alert[] }) {
  const { t, i18n } = useTranslation();
  const now = useNow();
  return (
    <ul className="alerts">
      {alerts.map((alert) => (
        <li key={alert.id}>
          <span className="g"><StateGlyph state={alertGlyph(alert)} /></span>
          <div>
            <div className="med"><AlertSubject alert={alert} /></div>
            <div className="sm mut">{alertText(alert, t)}{alert.cleared_at ? ` ${t("health.clearedAt", { at: dateTime(alert.cleared_at, i18n.language) })}` : ""}</div>
          </div>
          <span className="sm dim nw" title={dateTime(alert.raised_at, i18n.language)}>{age(alert.raised_at, now)}</span>
        </li>
      ))}
    </ul>
  );
}
