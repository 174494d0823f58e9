// Submitting a job.
import { useTranslation } from "react-i18next";
import { PageHead } from "@/ui/Panel";

export function SubmitPage() {
  const { t } = useTranslation();
  return <div className="page"><PageHead title={t("app.nav.jobs")} /></div>;
}
