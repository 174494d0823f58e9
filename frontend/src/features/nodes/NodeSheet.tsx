// One node beside the map: state, cores and memory, its devices, who sits where, and what an operator may do.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { nodeQuery } from "@/api/queries";
import type { NodeDetail } from "@/api/types";
import { LinksPicture } from "@/features/devices/LinksPicture";
import { count } from "@/lib/format";
import { Answer } from "@/ui/ListLooks";
import { CoreGrid } from "./CoreGrid";
import { JobLink } from "./JobLink";
import { NodeActions } from "./NodeActions";
import { NodeFacts } from "./NodeFacts";
import { CoreLevel, MemoryLevel } from "./NodeLevels";
import { NodeStateLine, NodeWarnings } from "./NodeState";
import { SheetSection, SideSheet } from "./SideSheet";

export function NodeSheet({ id, onClose }: { id: number; onClose: () => void }) {
  const { t } = useTranslation();
  const query = useQuery(nodeQuery(id));
  const node = query.data;
  const trail = node ? (
    <>
      {node.node_set ? `${node.node_set} · ` : ""}
      <Link to="/nodes/$id" params={{ id }}>{t("nodes.fullPage")}</Link>
    </>
  ) : "";
  return (
    <SideSheet label={t("nodes.title")} trail={trail} title={node?.name ?? t("nodes.title")} onClose={onClose}>
      <Answer query={query} loading={t("nodes.reading")}>{(data) => <SheetFacts node={data} />}</Answer>
    </SideSheet>
  );
}

function SheetFacts({ node }: { node: NodeDetail }) {
  const { t } = useTranslation();
  const devices = t("nodes.devicesOf", { count: node.devices.length, devices: count(node.devices.length) });
  return (
    <>
      <NodeStateLine node={node} />
      <NodeWarnings node={node} />
      <SheetSection title={t("nodes.cores")} note={node.cpu_model}><CoreLevel node={node} /></SheetSection>
      <SheetSection title={t("nodes.memory")}><MemoryLevel node={node} /></SheetSection>
      {node.devices.length > 0 ? (
        <SheetSection title={t("nodes.devices")} note={devices}>
          <LinksPicture node={node} own={null} />
          <DeviceLinks node={node} />
        </SheetSection>
      ) : null}
      <SheetSection title={t("nodes.whoSits")}><CoreGrid node={node} /></SheetSection>
      {node.placements.length > 0 ? (
        <SheetSection title={t("nodes.placements")} note={count(node.placements.length)}>
          <ul className="plain sm">
            {node.placements.map((placement) => (
              <li key={placement.id}>
                <JobLink id={placement.job} name={placement.job_name} />
                <span className="dim"> · {t(`nodes.phase.${placement.phase}`, { defaultValue: placement.phase })}</span>
              </li>
            ))}
          </ul>
        </SheetSection>
      ) : null}
      <SheetSection title={t("nodes.facts")}><div className="sm"><NodeFacts node={node} /></div></SheetSection>
      <section><NodeActions node={node} /></section>
    </>
  );
}

function DeviceLinks({ node }: { node: NodeDetail }) {
  const { t } = useTranslation();
  return (
    <div className="keyline">
      {node.devices.filter((device) => device.parent === null).sort((a, b) => a.index - b.index).map((device) => (
        <Link key={device.id} to="/map" search={{ device: `${node.name}.${String(device.index)}` }}>{t("devices.device", { index: device.index })}</Link>
      ))}
    </div>
  );
}
