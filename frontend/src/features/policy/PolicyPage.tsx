// The policy.
import { useTranslation } from "react-i18next";
import { PageHead } from "@/ui/Panel";

export function PolicyPage() {
  const { t } = useTranslation();
  return <div className="page"><PageHead title={t("app.nav.policy")} /></div>;
}
