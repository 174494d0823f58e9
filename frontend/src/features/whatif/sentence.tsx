// An edit in plain words.
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { nodeQuery } from "@/api/queries";
import type { Edit, JobRequest } from "@/api/types";
import { asksLine } from "@/features/job/Asks";
import { decimal } from "@/lib/format";

export function EditSentence({ edit }: { edit: Edit }) {
  const { t } = useTranslation();
  const id = edit.kind === "drain-node" ? edit.node : edit.kind === "add-nodes" ? edit.like : null;
  const node = useQuery({ ...nodeQuery(id ?? 0), enabled: id !== null });
  const name = node.data?.name ?? (id === null ? "" : `#${id}`);
  switch (edit.kind) {
    case "add-job": return <>{t("whatif.said.add-job", { count: edit.count ?? 1, queue: edit.spec.queue, asks: asksLine(edit.spec as JobRequest, t) })}</>;
    case "drain-node": return <>{t("whatif.said.drain-node", { node: name })}</>;
    case "change-weight": return <>{t("whatif.said.change-weight", { term: t(`ui.term.${edit.term}`), weight: decimal(edit.weight, 2) })}</>;
    case "change-quota": return <>{edit.percent === null ? t("whatif.said.no-quota", { queue: edit.queue }) : t("whatif.said.change-quota", { queue: edit.queue, percent: String(edit.percent) })}</>;
    case "add-nodes": return <>{t("whatif.said.add-nodes", { count: edit.count ?? 1, node: name })}</>;
  }
}
