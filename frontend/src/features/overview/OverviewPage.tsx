// The overview.
import { useTranslation } from "react-i18next";
import { PageHead } from "@/ui/Panel";

export function OverviewPage() {
  const { t } = useTranslation();
  return <div className="page"><PageHead title={t("app.nav.overview")} /></div>;
}
