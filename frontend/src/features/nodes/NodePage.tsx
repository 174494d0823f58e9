// The page of one node: everything that is known of it.
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { nodeQuery } from "@/api/queries";
import type { NodeDetail } from "@/api/types";
import { LinksPicture } from "@/features/devices/LinksPicture";
import { count } from "@/lib/format";
import { Answer } from "@/ui/ListLooks";
import { Columns, PageHead, Panel } from "@/ui/Panel";
import { CoreGrid } from "./CoreGrid";
import { NodeActions } from "./NodeActions";
import { FactList, ImageTable, MountTable, NodeFacts, NumaDistances } from "./NodeFacts";
import { CoreLevel, MemoryLevel } from "./NodeLevels";
import { NodeStateLine, NodeWarnings } from "./NodeState";
import { NodeReadings } from "./readings/NodeReadings";
import { DeviceTable, PlacementTable } from "./NodeTables";
import "./sheet.css";

export function NodePage() {
  const { t } = useTranslation();
  const { id } = useParams({ from: "/inside/nodes/$id" });
  const query = useQuery(nodeQuery(id));
  return (
    <div className="page">
      <Answer query={query} loading={t("nodes.reading")}>{(node) => <Node node={node} />}</Answer>
    </div>
  );
}

function Node({ node }: { node: NodeDetail }) {
  const { t } = useTranslation();
  const trail = (
    <>
      <Link to="/nodes">{t("nodes.all")}</Link>{node.node_set ? ` · ${node.node_set}` : ""} · <Link to="/map" search={{ node: node.name }}>{t("nodes.onMap")}</Link>
    </>
  );
  return (
    <>
      <PageHead title={node.name} trail={trail} actions={<NodeActions node={node} />} />
      <NodeStateLine node={node} />
      <NodeWarnings node={node} />
      <Columns parts={[1.25, 1]} top={16}>
        <div className="stack">
          <Panel title={t("nodes.cores")} meta={t("nodes.bookedMeasured")}><CoreLevel node={node} /></Panel>
          <Panel title={t("nodes.whoSits")} meta={t("nodes.byNuma")}><CoreGrid node={node} /><NumaDistances node={node} /></Panel>
          <Panel title={t("nodes.placements")} meta={count(node.placements.length)}><PlacementTable node={node} /></Panel>
          <Panel title={t("nodes.devices")} meta={count(node.devices.length)}><DeviceTable node={node} /></Panel>
          <Panel title={t("nodes.readings")}><NodeReadings node={node} /></Panel>
        </div>
        <div className="stack">
          <Panel title={t("nodes.memory")} meta={t("nodes.bookedMeasured")}><MemoryLevel node={node} /></Panel>
          {node.devices.length > 0 ? <Panel title={t("nodes.links")} meta={count(node.links.length)}><LinksPicture node={node} own={null} /></Panel> : null}
          <Panel title={t("nodes.facts")}><NodeFacts node={node} /></Panel>
          <Panel title={t("nodes.mounts")} meta={count(node.mounts.length)}><MountTable node={node} /></Panel>
          <Panel title={t("nodes.images")} meta={count(Math.max(node.images.length, node.stored_images.length))}><ImageTable node={node} /></Panel>
          <Panel title={t("nodes.datasets")} meta={count(node.datasets.length)}><FactList values={node.datasets} /></Panel>
        </div>
      </Columns>
    </>
  );
}
