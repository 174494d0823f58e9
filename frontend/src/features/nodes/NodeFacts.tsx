// Facts of a node: what it is, what it runs, what it holds.
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { NodeDetail } from "@/api/types";
import { count, decimal, memory, power, withUnit } from "@/lib/format";
import { Known, None, Unknown } from "@/ui/Words";
import { countCores, frequencies } from "./pure/cores";
import { lineOf, readMount } from "./pure/facts";
import { visible } from "./pure/visible";
import { LabelsEdit } from "./LabelsEdit";
import { ClockOffset, ReportAge } from "./NodeState";

/** "sha256:" and twelve digits. */
const DIGEST_SHOWN = 19;

const gigahertz = (mhz: number): string => decimal(mhz / 1000, 1);

function CpuWords({ node }: { node: NodeDetail }) {
  const { t } = useTranslation();
  const found = countCores(node.cpus);
  const speed = frequencies(node.cpus);
  const span = speed === null ? null : speed[0] === speed[1] ? gigahertz(speed[1]) : `${gigahertz(speed[0])}–${gigahertz(speed[1])}`;
  return (
    <>
      {node.cpus.length > 0 ? t("nodes.coresAndThreads", { count: found.physical, cores: count(found.physical), threads: count(found.logical) }) : <Unknown />}
      {", "}{span === null ? <>{t("nodes.topSpeed")} <Unknown /></> : t("nodes.upTo", { speed: withUnit(span, "GHz") })}
    </>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return <><dt>{name}</dt><dd>{children}</dd></>;
}

/** How a node without an agent is watched, and when it was last looked at. */
function SshWatch({ remote }: { remote: NonNullable<NodeDetail["remote"]> }) {
  const { t } = useTranslation();
  return <>{t("nodes.overSsh", { address: `${remote.address}:${String(remote.port)}` })} <ReportAge at={remote.tried_at} /></>;
}

export function NodeFacts({ node }: { node: NodeDetail }) {
  const { t } = useTranslation();
  const known = (value: string | null): ReactNode => <Known value={value === "" ? null : value} format={(text) => text} />;
  const labels = Object.entries(node.labels);
  return (
    <dl className="facts">
      <Fact name={t("nodes.fact.nodeSet")}>{node.node_set ?? <None />}</Fact>
      <Fact name={t("nodes.fact.cpu")}>{known(node.cpu_model)}</Fact>
      <Fact name={t("nodes.fact.cores")}><CpuWords node={node} /></Fact>
      <Fact name={t("nodes.fact.memory")}><Known value={node.memory_mib} format={memory} /></Fact>
      <Fact name={t("nodes.fact.system")}>{known([node.os, node.kernel, node.arch].filter(Boolean).join(" · "))}</Fact>
      <Fact name={t("nodes.fact.runtimes")}>{node.runtimes.length > 0 ? node.runtimes.map(lineOf).join(", ") : <None />}</Fact>
      <Fact name={t("nodes.fact.agent")}>{node.remote ? <SshWatch remote={node.remote} /> : known(node.agent_version)}</Fact>
      <Fact name={t("nodes.fact.report")}><ReportAge at={node.last_report_at} /> <span className="dim">{t("nodes.byServer")}</span></Fact>
      <Fact name={t("nodes.fact.clock")}><ClockOffset offsetMs={node.clock_offset_ms} uncertaintyMs={node.clock_uncertainty_ms} /></Fact>
      <Fact name={t("nodes.fact.power")}><Known value={node.reading?.power_mw} format={(value) => power(Math.round(value / 1000))} /></Fact>
      <Fact name={t("nodes.fact.load")}><Known value={node.reading?.load1_milli} format={(value) => decimal(value / 1000, 2)} /></Fact>
      <Fact name={t("nodes.fact.isolation")}>{node.agentless ? <None /> : node.isolates_users === null ? <Unknown /> : node.isolates_users ? t("nodes.isolated") : <span className="sig b">{t("nodes.notIsolatedShort")}</span>}</Fact>
      <Fact name={t("nodes.fact.labels")}>{labels.length > 0 ? labels.map(([key, value]) => `${key}=${value}`).join(", ") : <None />} <LabelsEdit node={node} /></Fact>
    </dl>
  );
}

export function MountTable({ node }: { node: NodeDetail }) {
  const { t } = useTranslation();
  if (node.mounts.length === 0) return <None />;
  return (
    <div className="scroll">
      <table className="tight">
        <thead><tr><th>{t("nodes.column.path")}</th><th>{t("nodes.column.source")}</th><th>{t("nodes.column.type")}</th><th className="r">{t("nodes.column.size")}</th></tr></thead>
        <tbody>
          {node.mounts.map(readMount).map((mount) => (
            <tr key={`${mount.path} ${mount.source}`}>
              <td className="mono">{mount.path}</td><td className="mono">{mount.source}</td><td>{mount.fsType}</td>
              <td className="r"><Known value={mount.totalMib} format={memory} /></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Images that are on the node with what is known of them; names alone where its agent tells no more. */
export function ImageTable({ node }: { node: NodeDetail }) {
  const { t } = useTranslation();
  if (node.stored_images.length === 0) return <FactList values={node.images} />;
  return (
    <div className="scroll">
      <table className="tight">
        <thead><tr><th>{t("nodes.column.image")}</th><th>{t("nodes.column.digest")}</th><th className="r">{t("nodes.column.size")}</th></tr></thead>
        <tbody>
          {node.stored_images.map((image) => (
            <tr key={`${image.name} ${image.digest ?? ""}`}>
              <td className="mono">{visible(image.name)}</td>
              <td className="mono dim" title={image.digest ?? undefined}><Known value={image.digest} format={(digest) => visible(digest).slice(0, DIGEST_SHOWN)} /></td>
              <td className="r nw"><Known value={image.size_mib} format={memory} /></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function FactList({ values }: { values: readonly unknown[] }) {
  if (values.length === 0) return <None />;
  return <ul className="plain mono">{values.map((value, i) => <li key={i}>{lineOf(value)}</li>)}</ul>;
}

export function NumaDistances({ node }: { node: NodeDetail }) {
  const { t } = useTranslation();
  if (node.numa.length < 2) return null;
  return (
    <table className="tight" style={{ width: "auto", marginTop: 12 }}>
      <caption className="sm mut" style={{ textAlign: "left", paddingBottom: 2, whiteSpace: "nowrap" }}>{t("nodes.distances")}</caption>
      <thead><tr><th />{node.numa.map((to) => <th key={to.id} className="r">{to.id}</th>)}</tr></thead>
      <tbody>
        {node.numa.map((from) => (
          <tr key={from.id}>
            <th scope="row">{from.id}</th>
            {node.numa.map((to, i) => <td key={to.id} className="r"><Known value={from.distances[i]} format={count} /></td>)}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
