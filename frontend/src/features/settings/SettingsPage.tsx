// Settings.
import { useTranslation } from "react-i18next";
import { PageHead } from "@/ui/Panel";

export function SettingsPage() {
  const { t } = useTranslation();
  return <div className="page"><PageHead title={t("app.nav.status")} /></div>;
}
