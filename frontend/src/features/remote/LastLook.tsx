// How the last look at a node over SSH went, in words.
import { useTranslation } from "react-i18next";
import type { RemoteHost } from "@/api/types";
import { age } from "@/lib/format";

export function LastLook({ host, now }: { host: RemoteHost; now: number }) {
  const { t } = useTranslation();
  if (host.problem === "") return host.answered_at ? <>{t("remote.fine", { age: age(host.answered_at, now) })}</> : <span className="dim">{t("remote.never")}</span>;
  return (
    <>
      <span className="crit">{[host.problem_text, host.problem_detail].filter(Boolean).join(" — ")}</span>
      <div className="xs mut">
        {t("remote.failed", { count: host.failures })}
        {host.answered_at ? ` · ${t("remote.answered", { age: age(host.answered_at, now) })}` : null}
      </div>
    </>
  );
}
