// Devices and placements of a node as tables.
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { Device, NodeDetail, NodePlacement } from "@/api/types";
import { cpuRanges, memory, percent, power, withUnit } from "@/lib/format";
import { StateWord } from "@/ui/StateGlyph";
import { Known, None } from "@/ui/Words";
import { mapKey, slicesOf } from "@/features/devices/Partitions";
import { JobLink } from "./JobLink";

function DeviceRow({ device, node }: { device: Device; node: NodeDetail }) {
  const { t } = useTranslation();
  const booked = device.memory_total_mib ? device.booked.memory_mib / device.memory_total_mib : null;
  const share = Math.max(booked ?? 0, device.booked.compute_milli / 1000);
  return (
    <tr className="go">
      <td><Link to="/map" search={{ device: mapKey(device, node.devices) }}>{mapKey(device, node.devices).slice(node.name.length + 1)}</Link></td>
      <td>{device.model || <Known value={null} format={() => ""} />}</td>
      <td><StateWord state={device.health} />{device.cordoned ? <span className="mut sm"> · {t("ui.state.cordoned")}</span> : null}</td>
      <td className="r">{percent(share * 100, 0)}</td>
      <td className="r"><Known value={device.reading?.utilization_pct} format={(value) => percent(value, 0)} /></td>
      <td className="r"><Known value={device.reading?.memory_used_mib} format={memory} /> <span className="dim">/ <Known value={device.memory_total_mib} format={memory} /></span></td>
      <td className="r"><Known value={device.reading?.temperature_c} format={(value) => withUnit(value, "°C")} /></td>
      <td className="r"><Known value={device.reading?.power_mw} format={(value) => power(Math.round(value / 1000))} /></td>
    </tr>
  );
}

/** Each device with its slices after it. */
function inOrder(devices: readonly Device[]): readonly Device[] {
  const wholes = devices.filter((device) => device.parent === null).sort((a, b) => a.index - b.index);
  return wholes.flatMap((whole) => [whole, ...slicesOf(whole, devices)]);
}

export function DeviceTable({ node }: { node: NodeDetail }) {
  const { t } = useTranslation();
  if (node.devices.length === 0) return <span className="mut">{t("nodes.noDevices")}</span>;
  const right = ["booked", "measured", "memoryUsed", "temperature", "power"] as const;
  return (
    <div className="scroll wide">
      <table>
        <thead>
          <tr>
            <th>#</th><th>{t("nodes.column.model")}</th><th>{t("nodes.column.state")}</th>
            {right.map((column) => <th key={column} className="r">{t(`nodes.column.${column}`)}</th>)}
          </tr>
        </thead>
        <tbody>{inOrder(node.devices).map((device) => <DeviceRow key={device.id} device={device} node={node} />)}</tbody>
      </table>
    </div>
  );
}

function slices(placement: NodePlacement, node: NodeDetail): string {
  return placement.slices
    .map((slice) => {
      const device = node.devices.find((entry) => entry.id === slice.device);
      const whole = slice.compute_milli >= 1000 ? "" : ` · ${percent(slice.compute_milli / 10, 0)}`;
      return `${device ? String(device.index) : "?"}: ${memory(slice.memory_mib)}${whole}`;
    })
    .join(", ");
}

export function PlacementTable({ node }: { node: NodeDetail }) {
  const { t } = useTranslation();
  if (node.placements.length === 0) return <None />;
  return (
    <div className="scroll wide">
      <table>
        <thead>
          <tr>
            <th>{t("nodes.column.job")}</th><th>{t("nodes.column.attempt")}</th><th>{t("nodes.column.phase")}</th>
            <th>{t("nodes.column.cores")}</th><th>{t("nodes.column.slices")}</th>
          </tr>
        </thead>
        <tbody>
          {node.placements.map((placement) => (
            <tr key={placement.id} className="go">
              <td><JobLink id={placement.job} name={placement.job_name} /></td>
              <td>{placement.attempt}</td>
              <td>{t(`nodes.phase.${placement.phase}`, { defaultValue: placement.phase })}</td>
              <td>{placement.cpus.length > 0 ? cpuRanges(placement.cpus) : <None />}</td>
              <td>{placement.slices.length > 0 ? slices(placement, node) : <None />}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
