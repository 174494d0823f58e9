// The strip above every page while nothing at all is started.
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { pausesQuery } from "@/api/pauses";
import { PauseWords, Resume } from "./PauseSwitch";
import { pauseOf } from "./pauses";

export function PausedCluster() {
  const { t } = useTranslation();
  const { data } = useQuery(pausesQuery);
  const found = pauseOf({}, data ?? []);
  return (
    <div className="pause row wrap" role="status">
      <span>{t("app.paused")}</span> {found ? <PauseWords found={found} /> : null} <Resume />
    </div>
  );
}
