// The links of a node's devices as the picture needs them: places by NUMA node, one switch or arcs, kinds and speeds.
import type { Device, DeviceLink, NumaNode } from "@/api/types";

const PCIE = new Set(["PIX", "PXB", "PHB", "NODE", "SYS"]);
const SWITCHES = new Set(["NVSWITCH"]);

/** True for paths over PCIe and the CPUs, false for links made for accelerators. */
export function isPcie(kind: string): boolean {
  return PCIE.has(kind.toUpperCase());
}

/** The name people know a link by; kinds not listed are shown as the vendor's tool names them. */
export function linkName(kind: string): string {
  const upper = kind.toUpperCase();
  if (upper === "NVSWITCH") return "NVSwitch";
  if (/^NV\d*$/.test(upper) || upper === "NVLINK") return "NVLink";
  if (upper === "METAX" || upper === "MX") return "MetaXLink";
  return upper;
}

function lanesOf(link: DeviceLink): number | null {
  const counted = /^NV(\d+)$/i.exec(link.kind);
  return link.lanes ?? (counted ? Number(counted[1]) : null);
}

export interface LinkFact {
  readonly name: string;
  readonly lanes: number | null;
  readonly bandwidthGbS: number | null;
}

export function linkFact(link: DeviceLink): LinkFact {
  return {
    name: linkName(link.kind), lanes: lanesOf(link),
    bandwidthGbS: link.bandwidth_mb_s === null ? null : link.bandwidth_mb_s / 1000,
  };
}

export function linksOf(device: number, links: readonly DeviceLink[]): readonly DeviceLink[] {
  return links.filter((link) => link.a === device || link.b === device);
}

/** The fastest link of a device that was made for accelerators, else its best path over PCIe. */
export function bestLink(device: number, links: readonly DeviceLink[]): DeviceLink | null {
  const own = linksOf(device, links);
  const direct = own.filter((link) => !isPcie(link.kind));
  const order = ["PIX", "PXB", "PHB", "NODE", "SYS"];
  const candidates = direct.length > 0 ? direct : own;
  const rank = (link: DeviceLink): number => (direct.length > 0 ? -(link.bandwidth_mb_s ?? 0) : order.indexOf(link.kind.toUpperCase()));
  return [...candidates].sort((a, b) => rank(a) - rank(b))[0] ?? null;
}

/** The switch all devices hang on, when every link made for accelerators goes through one. */
export function commonSwitch(devices: readonly Device[], links: readonly DeviceLink[]): DeviceLink | null {
  const through = links.filter((link) => SWITCHES.has(link.kind.toUpperCase()));
  const joined = new Set(through.flatMap((link) => [link.a, link.b]));
  return devices.length > 1 && devices.every((device) => joined.has(device.id)) ? (through[0] ?? null) : null;
}

export interface NumaSlot {
  /** Null: the NUMA node of these devices is unknown, so they have no preference. */
  readonly numa: number | null;
  readonly node: NumaNode | null;
  readonly devices: readonly Device[];
}

/** Devices below their NUMA nodes, in order of both; NUMA nodes without devices are left out where there are many. */
export function numaSlots(devices: readonly Device[], numa: readonly NumaNode[], most = 4): readonly NumaSlot[] {
  const sorted = [...devices].sort((a, b) => a.index - b.index);
  const known = numa.map((node) => ({ numa: node.id, node, devices: sorted.filter((device) => device.numa_node === node.id) }));
  const named = new Set(numa.map((node) => node.id));
  const rest = sorted.filter((device) => device.numa_node === null || !named.has(device.numa_node));
  const slots: NumaSlot[] = known.length > most ? known.filter((slot) => slot.devices.length > 0) : known;
  return rest.length > 0 ? [...slots, { numa: null, node: null, devices: rest }] : slots;
}

export interface PlacedDevice {
  readonly device: Device;
  readonly x: number;
}

export interface PlacedSlot {
  readonly slot: NumaSlot;
  readonly x: number;
  readonly width: number;
  readonly devices: readonly PlacedDevice[];
}

/** Places slots side by side on `width` px, each as wide as its devices ask, and the devices in them. */
export function placeSlots(slots: readonly NumaSlot[], width: number, gap = 16): readonly PlacedSlot[] {
  const room = width - gap * (slots.length - 1);
  const shares = slots.map((slot) => Math.max(1, slot.devices.length));
  const total = shares.reduce((sum, share) => sum + share, 0);
  const even = 0.5 / Math.max(1, slots.length);
  let x = 0;
  return slots.map((slot, i) => {
    const slotWidth = room * (even + ((shares[i] ?? 1) / total) * 0.5);
    const devices = slot.devices.map((device, n) => ({ device, x: x + ((n + 0.5) * slotWidth) / slot.devices.length }));
    const placed = { slot, x, width: slotWidth, devices };
    x += slotWidth + gap;
    return placed;
  });
}
