// On which nodes an order changed nothing, and why.
import { useTranslation } from "react-i18next";
import type { ImageOutcome } from "@/api/images";

export function Refused({ outcomes, total }: { outcomes: readonly ImageOutcome[]; total: number }) {
  const { t } = useTranslation();
  return (
    <div role="alert">
      <p>{t("images.refused", { count: outcomes.length, total })}</p>
      <ul>{outcomes.map((outcome) => <li key={outcome.node}>{outcome.node_name ?? `#${outcome.node}`}: {outcome.text}</li>)}</ul>
    </div>
  );
}
