// Users and teams.
import { useTranslation } from "react-i18next";
import { PageHead } from "@/ui/Panel";

export function AccountsPage() {
  const { t } = useTranslation();
  return <div className="page"><PageHead title={t("app.nav.accounts")} /></div>;
}
