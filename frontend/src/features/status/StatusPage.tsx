// The control plane.
import { useTranslation } from "react-i18next";
import { PageHead } from "@/ui/Panel";

export function StatusPage() {
  const { t } = useTranslation();
  return <div className="page"><PageHead title={t("app.nav.status")} /></div>;
}
