// The forecast where a person decides by it: on the calendar, and on the page of a job that can wait.
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { calendarQuery, forecastQuery } from "@/api/calendar";
import "@/ui/chart/chart.css";
import { Answer } from "@/ui/ListLooks";
import { Panel } from "@/ui/Panel";
import { FreeChart } from "./FreeChart";

const DAYS = 7;
const HOURS = 24;

export function ForecastPanel({ models = [], hours = HOURS }: { models?: readonly string[]; hours?: number }) {
  const { t } = useTranslation();
  const forecast = useQuery(forecastQuery(hours, models));
  const { data: calendar } = useQuery(calendarQuery(DAYS));
  return (
    <Panel title={t("calendar.forecast")} meta={models.length > 0 ? t("calendar.ofModels", { models: models.join(", ") }) : t("calendar.forecastNote")}>
      <Answer query={forecast} loading={t("calendar.readingForecast")}>{(found) => <FreeChart forecast={found} valleys={calendar?.valleys ?? []} />}</Answer>
    </Panel>
  );
}
