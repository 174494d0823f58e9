// How long ago something was received, by the server's clock.
import { useTranslation } from "react-i18next";
import { duration } from "@/lib/format";

const SECOND_MS = 1000;

export function Ago({ at, now }: { at: string; now: number }) {
  const { t } = useTranslation();
  const seconds = Math.floor((now - new Date(at).getTime()) / SECOND_MS);
  return <>{seconds < 1 ? t("nodes.justNow") : t("nodes.ago", { age: duration(seconds * SECOND_MS) })}</>;
}
