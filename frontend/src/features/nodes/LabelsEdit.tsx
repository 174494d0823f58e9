// The labels that operators give a node, edited as lines; those of its agent stay.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { labelNode } from "@/api/inventory";
import { keys } from "@/api/keys";
import type { NodeDetail } from "@/api/types";
import { useMay } from "@/app/context";
import { Confirm } from "@/ui/Dialog";
import { readLabels, writeLabels } from "./pure/labels";

export function LabelsEdit({ node }: { node: NodeDetail }) {
  const { t } = useTranslation();
  const may = useMay("node-operate");
  const [open, setOpen] = useState(false);
  if (!may) return null;
  return (
    <>
      <button type="button" className="linkish" onClick={() => { setOpen(true); }}>{t("nodes.editLabels")}…</button>
      {open ? <LabelsDialog node={node} onClose={() => { setOpen(false); }} /> : null}
    </>
  );
}

function LabelsDialog({ node, onClose }: { node: NodeDetail; onClose: () => void }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [text, setText] = useState(() => writeLabels(node.own_labels));
  const { labels, wrong } = readLabels(text);
  const save = async (reason: string): Promise<void> => {
    if (wrong !== null) throw new Error(t("nodes.wrongLabel", { line: wrong }));
    await labelNode(node.id, { reason, labels });
    await Promise.all([keys.node(node.id), keys.nodes(), keys.map].map((queryKey) => client.invalidateQueries({ queryKey })));
  };
  return (
    <Confirm
      title={t("nodes.labelsOf", { node: node.name })} action={t("nodes.saveLabels")} reason onConfirm={save} onClose={onClose}
      call={`PUT /api/v1/nodes/${String(node.id)}/labels`}
    >
      <p>{t("nodes.labelsNote")}</p>
      <label style={{ display: "grid", gap: 4, marginTop: 10 }}>
        <span className="sm mut">{t("nodes.labelLines")}</span>
        <textarea className="field mono labels" rows={5} value={text} spellCheck={false} aria-invalid={wrong !== null} onChange={(event) => { setText(event.target.value); }} />
      </label>
      {wrong === null ? null : <p className="sm crit" role="status">{t("nodes.wrongLabel", { line: wrong })}</p>}
    </Confirm>
  );
}
