// What the map says in words: group headings, tips, and the sentence of a focused node.
import type { TFunction } from "i18next";
import { NB, count, decimal, memory, percent, power, withUnit } from "@/lib/format";
import type { SceneWords } from "../draw/scene";
import { groupLevel, hostLevel, kindOf, percentile, type MapMode } from "../pure/levels";
import type { MapDevice, MapGroup, MapNode } from "../pure/model";

/** Devices per node of a group: one figure, or a range where nodes differ. */
export function devicesPerNode(nodes: readonly MapNode[]): string {
  const counts = nodes.map((node) => node.devices.length);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  return least === most ? String(most) : `${String(least)}–${String(most)}`;
}

function groupCount(t: TFunction, group: MapGroup): string {
  const hasDevices = group.nodes.some((node) => node.devices.length > 0);
  if (hasDevices) return `${count(group.nodes.length)} × ${devicesPerNode(group.nodes)}`;
  return t("map.nodes", { count: group.nodes.length, nodes: count(group.nodes.length) });
}

function groupNames(t: TFunction, group: MapGroup, from: number): ReturnType<SceneWords["group"]> {
  const hasDevices = group.nodes.some((node) => node.devices.length > 0);
  const model = group.model ?? (hasDevices ? t("map.modelUnknown") : t("map.noAccelerator"));
  const isSet = group.nodeSet !== null;
  const isRack = group.key.startsWith("rack|");
  const name = group.nodeSet ?? (group.key.startsWith("model|") ? model : t(isRack ? "map.noRack" : "map.noNodeSet"));
  if (from > 0) return { name, model: t("map.continued"), count: "" };
  const isNamedByModel = !isSet && group.key.startsWith("model|");
  const isNamedBySet = group.key.startsWith("set|") || isRack;
  return { name, model: isNamedByModel || isNamedBySet ? "" : model, count: groupCount(t, group) };
}

const rounded = (share: number | null): string | null => (share === null ? null : String(Math.round(share * 100)));

function temperatureFigure(t: TFunction, group: MapGroup): string {
  const known = percentile(group.nodes.flatMap((node) => node.devices.map((device) => device.tempC)), 0.95);
  if (group.nodes.every((node) => node.devices.length === 0)) return "";
  return known === null ? t("ui.unknown") : `P95 ${withUnit(known, "°C")}`;
}

function powerFigure(t: TFunction, group: MapGroup): string {
  const devices = group.nodes.flatMap((node) => node.devices);
  const known = devices.map((device) => device.powerMw).filter((value) => value !== null);
  if (devices.length === 0) return "";
  return known.length === 0 ? t("ui.unknown") : power(Math.round(known.reduce((sum, value) => sum + value, 0) / 1000));
}

function healthFigure(t: TFunction, group: MapGroup): string {
  const devices = group.nodes.flatMap((node) => node.devices);
  const good = devices.filter((device) => device.health === "healthy").length;
  return devices.length === 0 ? "" : t("map.healthyOf", { good: count(good), devices: count(devices.length) });
}

/** The figure at the right of a group's heading: `booked | measured` in per cent, P95 of temperature, or power. */
export function groupFigure(t: TFunction, group: MapGroup, mode: MapMode): string {
  if (kindOf(mode) === "health") return healthFigure(t, group);
  if (mode === "temperature") return temperatureFigure(t, group);
  if (mode === "power") return powerFigure(t, group);
  const { booked, measured } = groupLevel(group.nodes, kindOf(mode) === "holder" ? "level" : mode);
  if (booked === null && measured === null) return t("map.noCapacity");
  return `${rounded(booked) ?? t("ui.unknown")} | ${rounded(measured) ?? t("ui.unknown")}${NB}%`;
}

/** Words of the canvas in one language and mode. */
export function sceneWords(t: TFunction, mode: MapMode): SceneWords {
  return {
    group: (group, from) => groupNames(t, group, from),
    figure: (group) => groupFigure(t, group, mode),
    state: (state) => t(`ui.state.${state}`),
    per: (value) => String(Math.round(value * 100)),
  };
}

/** Booked and measured of a node in device equivalents, or in cores. */
export function nodeFigures(t: TFunction, node: MapNode): string {
  if (node.devices.length === 0) {
    const level = hostLevel(node, "level");
    const cores = node.cpuCount === null ? t("ui.unknown") : count(node.cpuCount);
    const used = node.cpuUsedMilli === null || level.measured === null ? t("ui.unknown") : decimal(node.cpuUsedMilli / 1000, 1);
    return t("map.tipCores", { booked: count(node.bookedCores), cores, used });
  }
  const booked = node.devices.reduce((sum, device) => sum + device.bookedMilli, 0) / 1000;
  const known = node.devices.map((device) => device.utilPct).filter((value) => value !== null);
  const used = known.length === 0 ? t("ui.unknown") : decimal(known.reduce((sum, value) => sum + value, 0) / 100, 1);
  return t("map.tipDevices", { booked: decimal(booked, 1), devices: count(node.devices.length), used });
}

const orUnknown = (t: TFunction, value: number | null, write: (value: number) => string): string =>
  value === null ? t("ui.unknown") : write(value);

/** Use and memory of a device. */
export function deviceFigures(t: TFunction, device: MapDevice): string {
  const total = orUnknown(t, device.memoryTotalMib, memory);
  const parts = [
    t("map.tipUse", { used: orUnknown(t, device.utilPct, (value) => percent(value, 0)) }),
    t("map.tipMemory", { used: orUnknown(t, device.usedMib, memory), booked: memory(device.bookedMib), total }),
  ];
  return parts.join(" · ");
}

/** Temperature and power of a device, and how many jobs are on it. */
export function deviceReadings(t: TFunction, device: MapDevice): string {
  const parts = [
    t("map.tipTemperature", { value: orUnknown(t, device.tempC, (value) => withUnit(value, "°C")) }),
    t("map.tipPower", { value: orUnknown(t, device.powerMw, (value) => power(Math.round(value / 1000))) }),
    t("map.tipJobs", { count: device.jobs }),
  ];
  return parts.join(" · ");
}

/** What a screen reader hears when the keyboard comes to a tile. */
export function nodeSentence(t: TFunction, node: MapNode): string {
  const marks = node.devices.filter((device) => device.health !== "healthy");
  const parts = [
    node.name, t(`ui.state.${node.state}`), nodeFigures(t, node),
    ...marks.map((device) => `${t("map.device", { index: device.index })} ${t(`ui.state.${device.health}`)}`),
  ];
  return parts.join(", ");
}
