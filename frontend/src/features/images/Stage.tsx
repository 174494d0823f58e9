// How far the fetching of an image ahead of demand is, why it is wanted, and how it went last.
import { useTranslation } from "react-i18next";
import type { ImagePush } from "@/api/images";
import { age, duration } from "@/lib/format";
import { useNow } from "@/lib/useNow";
import { None } from "@/ui/Words";

export function Stage({ push }: { push: ImagePush }) {
  const { t } = useTranslation();
  return (
    <>
      <span className={push.stage === "failed" ? "crit" : undefined}>{t(`images.stage.${push.stage}`)}</span>
      {push.problem ? <span className="sm mut"> {push.problem}</span> : null}
    </>
  );
}

export function Why({ push }: { push: ImagePush }) {
  const { t } = useTranslation();
  return <>{t(`images.why.${push.why}`)}</>;
}

/** When the last fetching or removing ended, and how long the fetching took. */
export function Ended({ push }: { push: ImagePush }) {
  const { t } = useTranslation();
  const now = useNow();
  if (!push.ended_at) return <None />;
  const took = push.ms == null ? "" : ` · ${t("images.took", { time: duration(push.ms) })}`;
  return <>{t("images.ago", { age: age(push.ended_at, now) })}{took}</>;
}
