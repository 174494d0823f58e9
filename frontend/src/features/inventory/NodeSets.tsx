// The node sets of the nodes shown: each a filter, the paused ones marked; the chosen one with its pause switch.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { pausesQuery } from "@/api/pauses";
import type { NodeSummary } from "@/api/types";
import { pausedNodeSets } from "@/features/pauses/pauses";
import { PauseSwitch } from "@/features/pauses/PauseSwitch";

const MOST = 24;

export function NodeSets({ nodes, chosen }: { nodes: readonly NodeSummary[]; chosen: string | undefined }) {
  const { t } = useTranslation();
  const { data: pauses } = useQuery(pausesQuery);
  const paused = pausedNodeSets(pauses ?? []);
  if (chosen) {
    return (
      <div className="row wrap" style={{ marginBottom: 12 }}>
        <Link to="/nodes" className="tag" aria-label={t("inventory.allSets")}>{t("inventory.nodeSet")}: <b>{chosen}</b> ×</Link>
        <PauseSwitch part={{ node_set: chosen }} />
      </div>
    );
  }
  const shown = nodes.flatMap((node) => (node.node_set ? [node.node_set] : []));
  const names = [...new Set([...paused, ...shown.sort((a, b) => a.localeCompare(b))])].slice(0, MOST);
  if (names.length === 0) return null;
  return (
    <div className="row wrap sm" style={{ marginBottom: 12, gap: "4px 8px" }}>
      <span className="mut">{t("pauses.nodeSets")}</span>
      {names.map((name) => (
        <Link key={name} to="/nodes" search={{ node_set: name }} className={`tag ${paused.includes(name) ? "sig" : ""}`}>
          {name}{paused.includes(name) ? ` · ${t("pauses.paused")}` : ""}
        </Link>
      ))}
    </div>
  );
}
