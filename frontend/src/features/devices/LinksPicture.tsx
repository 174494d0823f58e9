// The devices of a node as vessels: the switch or the links above them, their NUMA nodes below.
import { Fragment } from "react";
import { useTranslation } from "react-i18next";
import type { Device, DeviceLink, NodeDetail } from "@/api/types";
import { NB, cpuRanges, decimal, memory } from "@/lib/format";
import { useWidth } from "@/lib/useWidth";
import { bestLink, commonSwitch, isPcie, linkFact, numaSlots, placeSlots, type LinkFact, type PlacedDevice, type PlacedSlot } from "./pure/links";
import { levelOf } from "./pure/level";

const MOST_PX = 560;
const TOP = 62;
const VESSEL = { width: 22, height: 34 } as const;
const FLOOR = TOP + VESSEL.height;
const BOX = { top: 106, height: 42 } as const;
const LABEL_PX = 5.9;
const MANY_SLOTS = 4;

const speed = (value: number): string => `${Number.isInteger(value) ? String(value) : decimal(value, 1)}${NB}GB/s`;

/** A link in words: name, lanes and bandwidth as far as they are known. */
export function linkWords(fact: LinkFact): string {
  if (fact.bandwidthGbS === null) return fact.lanes === null ? fact.name : `${fact.name} · ${String(fact.lanes)} ×`;
  if (fact.lanes === null || fact.lanes === 0) return `${fact.name} · ${speed(fact.bandwidthGbS)}`;
  return `${fact.name} · ${String(fact.lanes)} × ${speed(fact.bandwidthGbS / fact.lanes)}`;
}

function Switch({ link, devices, own, width }: { link: DeviceLink; devices: readonly PlacedDevice[]; own: number | null; width: number }) {
  const { name, bandwidthGbS } = linkFact(link);
  return (
    <>
      {devices.map(({ device, x }) => (
        <path key={device.id} d={`M${String(x)} ${String(TOP)}V27`} stroke={device.id === own ? "var(--water)" : "var(--booked-edge)"} strokeWidth={device.id === own ? 5 : 2.5} />
      ))}
      <rect x="30" y="8" width={width - 60} height="19" fill="var(--water-soft)" stroke="var(--booked-edge)" />
      <text x={width / 2} y="21.5" textAnchor="middle" className="k">
        {name}{bandwidthGbS === null ? "" : ` · ${speed(bandwidthGbS)}`}
      </text>
    </>
  );
}

function Arcs({ links, devices, own }: { links: readonly DeviceLink[]; devices: readonly PlacedDevice[]; own: number | null }) {
  const places = new Map(devices.map(({ device, x }) => [device.id, x]));
  const isOwn = (link: DeviceLink): boolean => link.a === own || link.b === own;
  return [...links].sort((a, b) => Number(isOwn(a)) - Number(isOwn(b))).map((link) => {
    const [x0, x1] = [places.get(link.a), places.get(link.b)];
    if (x0 === undefined || x1 === undefined) return null;
    const top = 40 - Math.abs(x1 - x0) * 0.16;
    const path = `M${String(x0)} ${String(TOP)}Q${String((x0 + x1) / 2)} ${String(top)} ${String(x1)} ${String(TOP)}`;
    return (
      <path
        key={`${String(link.a)}-${String(link.b)}`} d={path} fill="none" strokeWidth={isOwn(link) ? 2.5 : 1}
        stroke={isOwn(link) ? "var(--water)" : "var(--line-strong)"} strokeDasharray={link.kind.toUpperCase() === "SYS" ? "3 3" : undefined}
      />
    );
  });
}

function VesselFill({ device, x, width }: { device: Device; x: number; width: number }) {
  const { booked, measured } = levelOf(device);
  const common = { x: x - width / 2, width };
  if (device.health === "quarantined") {
    return (
      <>
        <rect {...common} y={TOP} height={VESSEL.height} fill="var(--crit)" />
        <path d={`M${String(x - width / 2)} ${String(TOP + 6)}l${String(width)} 22M${String(x + width / 2)} ${String(TOP + 6)}l${String(-width)} 22`} stroke="var(--raise)" strokeWidth="2" />
      </>
    );
  }
  if (device.health === "missing") return <rect {...common} y={TOP} height={VESSEL.height} fill="var(--surface)" />;
  const bookedPx = booked * VESSEL.height;
  const waterPx = (measured ?? 0) * VESSEL.height;
  const inside = Math.min(bookedPx, waterPx);
  return (
    <>
      <rect {...common} y={TOP} height={VESSEL.height} fill="var(--track)" />
      <rect {...common} y={FLOOR - bookedPx} height={bookedPx} fill="var(--booked)" />
      {measured === null || device.health === "unknown" ? (
        <rect {...common} y={TOP} height={VESSEL.height} fill="url(#stipple)" />
      ) : (
        <>
          <rect {...common} y={FLOOR - inside} height={inside} fill="var(--water)" />
          <rect {...common} y={FLOOR - waterPx} height={waterPx - inside} fill="var(--signal-fill)" />
        </>
      )}
    </>
  );
}

function DeviceVessel({ device, x, width, isOwn }: { device: Device; x: number; width: number; isOwn: boolean }) {
  const { measured } = levelOf(device);
  const isDeep = device.health === "quarantined" || (device.health !== "unknown" && device.health !== "missing" && (measured ?? 0) * VESSEL.height > 12);
  const half = width / 2;
  return (
    <g>
      <path d={`M${String(x)} 97v9`} stroke="var(--ink-3)" strokeWidth={isOwn ? 2 : 1} />
      <VesselFill device={device} x={x} width={width} />
      <rect
        x={x - half} y={TOP} width={width} height={VESSEL.height} fill="none" strokeWidth={isOwn ? 2 : 1}
        stroke={isOwn ? "var(--focus)" : "var(--line-strong)"} strokeDasharray={device.health === "missing" ? "2.5 2" : undefined}
      />
      {device.health === "suspect" ? (
        <path d={`M${String(x - half - 2)} 58h${String(width + 4)}v4L${String(x)} 71l${String(-half - 2)}-9z`} fill="var(--signal)" />
      ) : null}
      {device.cordoned ? (
        <path d={`M${String(x - half - 2)} 98V59h${String(width + 4)}V98`} fill="none" stroke="var(--ink)" strokeWidth="2" />
      ) : null}
      {width >= 14 ? (
        <text x={x} y="92" textAnchor="middle" className={isDeep ? "" : "h"} style={{ fill: isDeep ? "var(--raise)" : "var(--ink)", fontWeight: 600 }}>
          {device.index}
        </text>
      ) : null}
    </g>
  );
}

type Translate = ReturnType<typeof useTranslation>["t"];

const numaName = ({ slot }: PlacedSlot, t: Translate): string => (slot.numa === null ? t("nodes.numaUnknown") : t("nodes.numa", { id: slot.numa }));

function numaWords({ slot }: PlacedSlot, t: Translate): string {
  const memoryWords = slot.node?.memory_mib == null ? "" : ` · ${memory(slot.node.memory_mib)}`;
  return slot.node ? `${t("nodes.cpus", { cpus: cpuRanges(slot.node.cpus) })}${memoryWords}` : t("devices.noPreference");
}

/** Whether every box is wide enough for its words; else they stand in a list below. */
const wordsFit = (slots: readonly PlacedSlot[], t: Translate): boolean =>
  slots.every((placed) => Math.max(numaName(placed, t).length, numaWords(placed, t).length) * LABEL_PX + 14 <= placed.width);

function NumaBox({ placed, isShort }: { placed: PlacedSlot; isShort: boolean }) {
  const { t } = useTranslation();
  const { slot, x, width } = placed;
  const words = numaWords(placed, t);
  return (
    <g>
      <title>{words}</title>
      <rect x={x} y={BOX.top} width={width} height={BOX.height} fill="none" stroke="var(--line-strong)" strokeDasharray={slot.node ? undefined : "3 2"} />
      {isShort ? (
        <text x={x + width / 2} y="131" textAnchor="middle" className="k">{slot.numa ?? "?"}</text>
      ) : (
        <>
          <text x={x + 8} y="122" className="k">{numaName(placed, t)}</text>
          <text x={x + 8} y="138" className="d">{words}</text>
        </>
      )}
    </g>
  );
}

function Key({ best, hops }: { best: LinkFact | null; hops: boolean }) {
  const { t } = useTranslation();
  const from = best ? 150 : 0;
  return (
    <g transform="translate(0 166)">
      {best ? (
        <>
          <path d="M0 -4h20" stroke="var(--water)" strokeWidth="4" />
          <text x="26">{t("devices.thisDevice", { link: best.name })}</text>
        </>
      ) : null}
      <path d={`M${String(from)} -4h20`} stroke="var(--ink-3)" strokeWidth="1.5" />
      <text x={from + 26}>{t("devices.pcie")}</text>
      {hops ? (
        <>
          <path d={`M${String(from + 120)} -4h20`} stroke="var(--ink-3)" strokeDasharray="2 2" />
          <text x={from + 146}>{t("devices.numaHop")}</text>
        </>
      ) : null}
    </g>
  );
}

/** `own` is the device the sheet is about; null shows the node as a whole. */
export function LinksPicture({ node, own }: { node: NodeDetail; own: number | null }) {
  const { t } = useTranslation();
  const [ref, room] = useWidth<HTMLDivElement>(390);
  const width = Math.min(MOST_PX, room);
  const wholes = node.devices.filter((device) => device.parent === null);
  const numa = numaSlots(wholes, node.numa);
  const slots = placeSlots(numa, width, numa.length > MANY_SLOTS ? 8 : 16);
  const isShort = !wordsFit(slots, t);
  const devices = slots.flatMap((slot) => slot.devices);
  const direct = node.links.filter((link) => !isPcie(link.kind));
  const hub = commonSwitch(wholes, node.links);
  const least = Math.min(...slots.map((slot) => slot.width / Math.max(1, slot.devices.length)));
  const vessel = Math.max(4, Math.min(VESSEL.width, least - 4));
  const best = own === null ? null : bestLink(own, node.links);
  return (
    <div ref={ref}>
      <svg width={width} height="172" role="img" aria-label={t("devices.linksLabel", { count: node.links.length })}>
        {hub ? (
          <Switch link={hub} devices={devices} own={own} width={width} />
        ) : (
          <Arcs links={direct.length > 0 ? direct : node.links} devices={devices} own={own} />
        )}
        {slots.map((placed, i) => <NumaBox key={i} placed={placed} isShort={isShort} />)}
        {slots.slice(1).map((placed, i) => {
          const before = slots[i] as PlacedSlot;
          return <path key={i} d={`M${String(before.x + before.width)} 127H${String(placed.x)}`} stroke="var(--ink-3)" strokeDasharray="2 2" />;
        })}
        {devices.map(({ device, x }) => <DeviceVessel key={device.id} device={device} x={x} width={vessel} isOwn={device.id === own} />)}
        <Key best={best ? linkFact(best) : null} hops={slots.length > 1} />
      </svg>
      {isShort ? (
        <dl className="facts xs numalist">
          {slots.map((placed, i) => <Fragment key={i}><dt>{numaName(placed, t)}</dt><dd>{numaWords(placed, t)}</dd></Fragment>)}
        </dl>
      ) : null}
    </div>
  );
}
