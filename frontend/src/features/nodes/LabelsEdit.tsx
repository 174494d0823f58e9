// The labels that operators give a node, edited as lines; those of its agent stay.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { labelNode, labelsQuery } from "@/api/inventory";
import { keys } from "@/api/keys";
import type { NodeDetail } from "@/api/types";
import { useMay } from "@/app/context";
import { Confirm, Dialog } from "@/ui/Dialog";
import { Answer } from "@/ui/ListLooks";
import { type Labels, readLabels, writeLabels } from "./pure/labels";

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
  const query = useQuery(labelsQuery(node.id));
  if (query.data) return <LabelsForm node={node} before={query.data} onClose={onClose} />;
  return <Dialog title={t("nodes.labelsOf", { node: node.name })} onClose={onClose}><Answer query={query} loading={t("nodes.reading")}>{() => null}</Answer></Dialog>;
}

interface LabelsFormProps {
  readonly node: NodeDetail;
  readonly before: { readonly labels: Labels; readonly version: string };
  readonly onClose: () => void;
}

function LabelsForm({ node, before, onClose }: LabelsFormProps) {
  const { t } = useTranslation();
  const client = useQueryClient();
  // What is edited stays as it was read, whatever is read again meanwhile: others' changes are refused, not overwritten.
  const [{ version }] = useState(before);
  const [text, setText] = useState(() => writeLabels(before.labels));
  const { labels, wrong } = readLabels(text);
  const save = async (reason: string): Promise<void> => {
    if (wrong !== null) throw new Error(t("nodes.wrongLabel", { line: wrong }));
    await labelNode(node.id, { reason, labels, version });
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
