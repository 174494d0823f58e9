// Queues and their shares.
import { useTranslation } from "react-i18next";
import { PageHead } from "@/ui/Panel";

export function QueuesPage() {
  const { t } = useTranslation();
  return <div className="page"><PageHead title={t("app.nav.queues")} /></div>;
}
