// The rows of the node table.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { pausesQuery } from "@/api/pauses";
import type { NodeSummary } from "@/api/types";
import { pausedNodeSets } from "@/features/pauses/pauses";
import { age, count, decimal, memory, withUnit } from "@/lib/format";
import { useNow } from "@/lib/useNow";
import { StateWord } from "@/ui/StateGlyph";
import { Known, None } from "@/ui/Words";

const CLOCK_LIMIT_MS = 50;

export function NodeTable({ nodes }: { nodes: readonly NodeSummary[] }) {
  const { t } = useTranslation();
  const now = useNow();
  const { data: pauses } = useQuery(pausesQuery);
  const paused = pausedNodeSets(pauses ?? []);
  return (
    <div className="scroll">
      <table style={{ minWidth: 980 }}>
        <thead>
          <tr>
            <th>{t("inventory.node")}</th><th>{t("inventory.state")}</th><th>{t("inventory.nodeSet")}</th><th className="r">{t("inventory.cpus")}</th><th className="r">{t("inventory.memory")}</th>
            <th style={{ paddingLeft: 20 }}>{t("inventory.devices")}</th><th className="r">{t("inventory.lastReport")}</th><th className="r">{t("inventory.clock")}</th><th style={{ paddingLeft: 20 }}>{t("inventory.agent")}</th>
          </tr>
        </thead>
        <tbody>
          {nodes.map((node) => (
            <tr key={node.id} className="go">
              <td><Link to="/nodes/$id" params={{ id: node.id }} className="med">{node.name}</Link> <Marks node={node} /></td>
              <td><StateWord state={node.state} />{node.state_reason ? <span className="sm mut"> {node.state_reason}</span> : null}</td>
              <td>{node.node_set ? <><Link to="/nodes" search={{ node_set: node.node_set }}>{node.node_set}</Link>{paused.includes(node.node_set) ? <> <span className="tag sig">{t("pauses.paused")}</span></> : null}</> : <None />}</td>
              <td className="r" title={node.cpu_model ?? undefined}><Known value={node.cpu_count} format={count} /></td>
              <td className="r nw"><Known value={node.memory_mib} format={memory} /></td>
              <td style={{ paddingLeft: 20 }}>{node.devices > 0 ? <>{node.devices} × {node.device_models.join(", ")}</> : <None />}</td>
              <td className="r nw"><Known value={node.last_report_at} format={(at) => age(at, now)} /></td>
              <td className="r nw"><Known value={node.clock_offset_ms} format={clock} /></td>
              <td className="sm mut" style={{ paddingLeft: 20 }}><Known value={node.agent_version} format={(version) => version} /></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function clock(offsetMs: number) {
  const text = withUnit(decimal(offsetMs, 1), "ms");
  return Math.abs(offsetMs) > CLOCK_LIMIT_MS ? <span className="sig b">{text}</span> : text;
}

/** What is special about a node, in words. */
function Marks({ node }: { node: NodeSummary }) {
  const { t } = useTranslation();
  const marks = [node.agentless ? "agentless" : null, node.observe_only ? "observeOnly" : null, node.simulated ? "simulated" : null, node.isolates_users === false && !node.agentless ? "noIsolation" : null].filter((mark) => mark !== null);
  return marks.map((mark) => <span key={mark} className="tag" style={{ marginLeft: 4 }} title={t(`inventory.markWhy.${mark}`)}>{t(`inventory.mark.${mark}`)}</span>);
}
