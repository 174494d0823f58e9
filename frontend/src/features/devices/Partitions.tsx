// A partitioned device and its slices: who holds which, and which share one memory.
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { Device, NodeDetail } from "@/api/types";
import { JobLink } from "@/features/nodes/JobLink";
import { memory, percent } from "@/lib/format";
import { StateWord } from "@/ui/StateGlyph";
import { Known, None } from "@/ui/Words";

/** NODE.INDEX or NODE.INDEX/SLICE, as the map's address names a device. */
export function mapKey(device: Device, devices: readonly Device[]): string {
  const parent = devices.find((entry) => entry.id === device.parent);
  return parent ? `${device.node_name}.${String(parent.index)}/${String(device.index)}` : `${device.node_name}.${String(device.index)}`;
}

export const slicesOf = (device: Device, devices: readonly Device[]): readonly Device[] => devices.filter((entry) => entry.parent === device.id);

function SliceRow({ slice, node }: { slice: Device; node: NodeDetail }) {
  const { t } = useTranslation();
  return (
    <tr className="go">
      <td><Link to="/map" search={{ device: mapKey(slice, node.devices) }}>{slice.model || t("devices.slice", { index: slice.index })}</Link></td>
      <td><StateWord state={slice.health} /></td>
      <td className="r nw"><Known value={slice.memory_total_mib} format={memory} /></td>
      <td className="r nw"><Known value={slice.compute_milli} format={(milli) => percent(milli / 10, 0)} /></td>
      <td>{slice.placements.length === 0 ? <None /> : slice.placements.map((placement) => <div key={placement.id}><JobLink id={placement.job} name={placement.job_name} /></div>)}</td>
    </tr>
  );
}

export function Partitions({ slices, node }: { slices: readonly Device[]; node: NodeDetail }) {
  const { t } = useTranslation();
  const groups = slices.map((slice) => slice.memory_group).filter((group) => group !== null);
  const isShared = new Set(groups).size < groups.length;
  return (
    <>
      <p className="sm mut">{t("devices.notBesideSlices")}</p>
      <div className="scroll">
        <table className="tight">
          <thead>
            <tr>
              <th>{t("devices.column.slice")}</th><th>{t("devices.column.state")}</th><th className="r">{t("devices.column.memory")}</th>
              <th className="r">{t("devices.column.compute")}</th><th>{t("devices.column.job")}</th>
            </tr>
          </thead>
          <tbody>{slices.map((slice) => <SliceRow key={slice.id} slice={slice} node={node} />)}</tbody>
        </table>
      </div>
      {isShared ? <p className="xs dim">{t("devices.sharedMemory")}</p> : null}
    </>
  );
}

/** Of which device a slice is. */
export function SliceOf({ device, node }: { device: Device; node: NodeDetail }) {
  const { t } = useTranslation();
  const parent = node.devices.find((entry) => entry.id === device.parent);
  if (!parent) return null;
  return (
    <p className="sm">
      {t("devices.sliceOf")} <Link to="/map" search={{ device: mapKey(parent, node.devices) }}>{t("devices.device", { index: parent.index })}{parent.model ? ` · ${parent.model}` : ""}</Link>
    </p>
  );
}
