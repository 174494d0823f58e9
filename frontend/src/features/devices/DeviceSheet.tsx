// One device: state with its evidence, memory, links, readings, the jobs on it and what could run here.
import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { deviceQuery, nodeQuery } from "@/api/queries";
import type { Device, NodeDetail, NodeState } from "@/api/types";
import { JobLink } from "@/features/nodes/JobLink";
import { LevelScale } from "@/features/nodes/LevelScale";
import { SheetSection, SideSheet } from "@/features/nodes/SideSheet";
import { evidenceLines } from "@/features/nodes/pure/facts";
import { Ago } from "@/features/nodes/Ago";
import { useServerNow } from "@/features/nodes/useServerNow";
import { count, decimal, gib, memory, percent, power, shortTime, withUnit } from "@/lib/format";
import { Answer, Loading } from "@/ui/ListLooks";
import { StateWord } from "@/ui/StateGlyph";
import { Known, None, Unknown } from "@/ui/Words";
import { CouldRun } from "./CouldRun";
import { DeviceActions } from "./DeviceActions";
import { DeviceReadings } from "./DeviceReadings";
import { HealthHistory } from "./HealthHistory";
import { LinksPicture, linkWords } from "./LinksPicture";
import { memoryGate } from "./pure/level";
import { bestLink, linkFact } from "./pure/links";
import { Partitions, SliceOf, slicesOf } from "./Partitions";

const MIB_PER_GIB = 1024;

export function DeviceSheet({ id, onClose }: { id: number; onClose: () => void }) {
  const { t } = useTranslation();
  const query = useQuery(deviceQuery(id));
  const device = query.data;
  const trail = device ? (
    <>
      <Link to="/nodes/$id" params={{ id: device.node }}>{device.node_name}</Link> · {t("devices.device", { index: device.index })}
      {device.pci_bus_id === null ? null : ` · PCI ${device.pci_bus_id}`}
    </>
  ) : "";
  return (
    <SideSheet label={t("devices.title")} trail={trail} title={device ? (device.model || t("devices.modelUnknown")) : t("devices.title")} onClose={onClose}>
      <Answer query={query} loading={t("devices.reading")}>{(data) => <DeviceFacts device={data} />}</Answer>
    </SideSheet>
  );
}

function DeviceFacts({ device }: { device: Device }) {
  const node = useQuery(nodeQuery(device.node));
  return (
    <>
      <StateLine device={device} nodeState={node.data?.state ?? null} />
      <PartitionsSection device={device} node={node.data} />
      <MemorySection device={device} />
      <ReadingsSection device={device} />
      <LinksSection device={device} node={node} />
      <HealthSection device={device} />
      <HistorySection device={device} />
      <JobsOnIt device={device} />
      <CouldRun device={device} />
      <HardwareSection device={device} />
      <DeviceActions device={device} />
    </>
  );
}

type TakesWork = "yes" | "cordoned" | "node" | "health";

function takesWork(device: Device, nodeState: NodeState | null): TakesWork {
  if (device.health !== "healthy" && device.health !== "suspect") return "health";
  if (device.cordoned) return "cordoned";
  return nodeState === null || nodeState === "ready" ? "yes" : "node";
}

function StateLine({ device, nodeState }: { device: Device; nodeState: NodeState | null }) {
  const { t, i18n } = useTranslation();
  const works = takesWork(device, nodeState);
  const since = device.health_since ? t("devices.since", { time: shortTime(device.health_since, i18n.language) }) : "";
  const note = {
    yes: device.health === "suspect" ? t("devices.note.suspect") : t("devices.note.healthy"),
    cordoned: t("devices.note.cordoned"),
    node: t("devices.note.node", { state: t(`ui.state.${nodeState ?? "unknown"}`) }),
    health: t(`devices.note.${device.health}`),
  }[works];
  return (
    <div className="sheetstate">
      <StateWord state={device.health} />
      {device.flapping ? <span className="tag sig">{t("devices.flapping")}</span> : null}
      <span className="sm mut">{[since, note].filter((part) => part !== "").join("; ")}</span>
    </div>
  );
}

/** What keeps the jobs on it within what they booked; nothing where there is none. */
export function limitNote({ placements }: Pick<Device, "placements">, t: (key: string) => string): string | null {
  const limits = [...new Set(placements.map((placement) => placement.memory_limit))];
  return limits.length === 0 ? null : limits.map((limit) => t(`ui.limit.${limit}`)).join(", ");
}

function MemorySection({ device }: { device: Device }) {
  const { t } = useTranslation();
  const used = device.reading?.memory_used_mib ?? null;
  const extra = [
    device.foreign_mib ? t("devices.foreign", { size: memory(device.foreign_mib) }) : "",
    device.memory_total_mib === null ? t("devices.totalUnknown") : "",
  ].filter((part) => part !== "");
  return (
    <SheetSection title={t("devices.memory")} note={limitNote(device, t)}>
      <LevelScale
        label={t("devices.memory")} total={device.memory_total_mib} booked={device.booked.memory_mib} measured={used}
        foreign={device.foreign_mib ?? 0} gate={memoryGate(device)} unit="GiB" figure={(mib) => (mib === 0 ? withUnit(0, "GiB") : memory(mib))} axis={{ per: MIB_PER_GIB, text: gib }}
      />
      {extra.length > 0 ? <div className="sm mut">{extra.join(" · ")}</div> : null}
    </SheetSection>
  );
}

function PartitionsSection({ device, node }: { device: Device; node: NodeDetail | undefined }) {
  const { t } = useTranslation();
  if (!node) return null;
  if (device.parent !== null) return <SliceOf device={device} node={node} />;
  const slices = slicesOf(device, node.devices);
  return slices.length === 0 ? null : <SheetSection title={t("devices.slices")} note={count(slices.length)}><Partitions slices={slices} node={node} /></SheetSection>;
}

function HistorySection({ device }: { device: Device }) {
  const { t } = useTranslation();
  return <SheetSection title={t("devices.history")}><HealthHistory key={device.id} id={device.id} /></SheetSection>;
}

function ReadingsSection({ device }: { device: Device }) {
  const { t } = useTranslation();
  return <SheetSection title={t("devices.readings")}><DeviceReadings device={device} /></SheetSection>;
}

function LinksSection({ device, node }: { device: Device; node: UseQueryResult<NodeDetail> }) {
  const { t } = useTranslation();
  const whole = device.parent ?? device.id;
  const best = node.data ? bestLink(whole, node.data.links) : null;
  const note = best ? linkWords(linkFact(best)) : node.data ? t("devices.noLinks") : null;
  return (
    <SheetSection title={t("devices.links")} note={note}>
      {node.data ? <LinksPicture node={node.data} own={whole} /> : <Loading what={t("devices.readingNode")} />}
    </SheetSection>
  );
}

function Reading({ name, value, format }: { name?: string; value: number | null | undefined; format: (value: number) => string }) {
  if (value != null) return <>{name ? `${name} ` : ""}{format(value)}</>;
  return <>{name} <Unknown /></>;
}

function Readings({ device }: { device: Device }) {
  const { t } = useTranslation();
  const now = useServerNow();
  const { reading, power_limit_w: limit } = device;
  const watts = reading?.power_mw == null ? null : reading.power_mw / 1000;
  return (
    <div className="sm mut" style={{ marginTop: 6 }}>
      <Reading name={t("devices.use")} value={reading?.utilization_pct} format={(value) => percent(value, 0)} />{" · "}
      {reading?.temperature_c == null ? <>{t("devices.temperature")} <Unknown /></> : withUnit(decimal(reading.temperature_c, 0), "°C")}{" · "}
      {watts === null ? <>{t("devices.power")} <Unknown /></> : <>{power(Math.round(watts))}{limit === null ? "" : ` ${t("devices.ofLimit", { limit: power(limit) })}`}</>}
      {reading ? <span className="dim"> · {t("devices.readAt")} <Ago at={reading.at} now={now} /></span> : null}
    </div>
  );
}

function HealthSection({ device }: { device: Device }) {
  const { t } = useTranslation();
  const lines = evidenceLines(device.health_evidence);
  const isOut = device.health === "quarantined" || device.health === "missing";
  return (
    <SheetSection title={t("devices.evidence")} note={device.health_reason || null}>
      {lines.length > 0 ? (
        <div className="evwrap" tabIndex={0}><div className={isOut ? "ev crit" : "ev"}>{lines.join("\n")}</div></div>
      ) : (
        <div className="sm dim">{t("devices.noEvidence")}</div>
      )}
      <Readings device={device} />
    </SheetSection>
  );
}

function JobsOnIt({ device }: { device: Device }) {
  const { t } = useTranslation();
  return (
    <SheetSection title={t("devices.jobs")}>
      {device.placements.length === 0 ? <div className="sm"><None /></div> : (
        <ul className="plain sm">
          {device.placements.map((placement) => (
            <li key={placement.id}>
              <JobLink id={placement.job} name={placement.job_name} />
              <div className="dim">
                {placement.compute_milli >= 1000
                  ? t("devices.bookedWhole", { size: memory(placement.memory_mib) })
                  : t("devices.bookedSlice", { size: memory(placement.memory_mib), share: percent(placement.compute_milli / 10, 0) })}
                {" · "}<span title={t(`ui.limitWhy.${placement.memory_limit}`)}>{t(`ui.limit.${placement.memory_limit}`)}</span>
              </div>
            </li>
          ))}
        </ul>
      )}
    </SheetSection>
  );
}

function HardwareSection({ device }: { device: Device }) {
  const { t } = useTranslation();
  const tflops = Object.entries(device.catalogue?.tflops ?? {}).filter((entry): entry is [string, number] => entry[1] !== null);
  return (
    <SheetSection title={t("devices.hardware")} note={device.vendor}>
      <dl className="facts sm">
        <dt>{t("devices.identity")}</dt><dd className="mono">{device.uuid ?? device.identity}</dd>
        <dt>{t("devices.reserved")}</dt><dd><Known value={device.memory_reserved_mib} format={memory} /></dd>
        <dt>{t("devices.driver")}</dt><dd><Known value={device.driver_version} format={(value) => value} /></dd>
        <dt>{t("devices.units")}</dt><dd><Known value={device.compute_units} format={count} /></dd>
        <dt>{t("devices.peak")}</dt>
        <dd>{tflops.length > 0 ? tflops.map(([precision, value]) => `${precision} ${withUnit(String(value), "TFLOPS")}`).join(" · ") : <Unknown />}</dd>
      </dl>
    </SheetSection>
  );
}
