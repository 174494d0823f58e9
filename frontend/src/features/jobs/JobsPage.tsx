// The job table.
import { useTranslation } from "react-i18next";
import { PageHead } from "@/ui/Panel";

export function JobsPage() {
  const { t } = useTranslation();
  return <div className="page"><PageHead title={t("app.nav.jobs")} /></div>;
}
