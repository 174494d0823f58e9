// The resource map.
import { useTranslation } from "react-i18next";
import { PageHead } from "@/ui/Panel";

export function MapPage() {
  const { t } = useTranslation();
  return <div className="page"><PageHead title={t("app.nav.map")} /></div>;
}
