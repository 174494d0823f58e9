// The control plane about itself: the scheduler in the last hour, what waits for workers, agents, database and broker.
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Status } from "@/api/types";
import { age, clockTime, count, decimal, duration, memory, percent, seconds } from "@/lib/format";
import { useNow } from "@/lib/useNow";
import { Panel } from "@/ui/Panel";
import { Known, None } from "@/ui/Words";

const milliseconds = (value: number) => duration(Math.round(value));

/** The scheduler's own figures; what was not measured is unknown, what did not happen is zero. */
export function CycleFigures({ cycle }: { cycle: Status["cycle"] }) {
  const { t } = useTranslation();
  const { wall_ms: wall } = cycle;
  return (
    <div className="figures">
      {([["mean", wall.mean], ["p50", wall.p50], ["p95", wall.p95], ["p99", wall.p99]] as const).map(([name, value]) => (
        <Fact key={name} name={t(`status.wallOf.${name}`)}><Known value={value} format={milliseconds} /></Fact>
      ))}
      <Fact name={t("status.decisions")}><Known value={cycle.decisions_per_s} format={(value) => value < 10 ? decimal(value, 1) : count(value)} /></Fact>
      <Fact name={t("status.cacheHits")}><Known value={cycle.cache_hit_percent} format={(value) => percent(value)} /></Fact>
      <Fact name={t("status.ownCpu")}><Known value={cycle.cpu_percent} format={(value) => percent(value)} /></Fact>
      <Fact name={t("status.skipped")} warm={cycle.skipped_1h > 0}>{count(cycle.skipped_1h)}</Fact>
      <Fact name={t("status.longestGap")}><Known value={cycle.longest_gap_s} format={seconds} /></Fact>
    </div>
  );
}

function Fact({ name, warm = false, children }: { name: string; warm?: boolean; children: ReactNode }) {
  return <div><div className="sm mut">{name}</div><span className={`fig ${warm ? "sig" : ""}`}>{children}</span></div>;
}

/** When the last cycle was, and how many there were. */
export function CycleSentence({ cycle }: { cycle: Status["cycle"] }) {
  const { t, i18n } = useTranslation();
  const now = useNow();
  const { last } = cycle;
  const lately = t("status.lately", { looks: count(cycle.looks_1h), count: cycle.count_1h, cycles: count(cycle.count_1h) });
  if (!last) return <p className="lead">{t("status.noCycle")} {lately}</p>;
  return (
    <p className="lead">
      {t("status.lastCycle", { age: age(last.at, now), time: clockTime(last.at, i18n.language), took: duration(last.wall_ms), count: last.considered, placed: count(last.placed), waiting: count(last.waiting) })} {lately}
    </p>
  );
}

export function Parts({ status }: { status: Status }) {
  const { t } = useTranslation();
  const { agents, database, valkey, workers } = status;
  return (
    <>
      <Panel title={t("status.parts")}>
        <dl className="facts">
          <dt>PostgreSQL</dt>
          <dd><Health ok={database.ok} /> <Known value={database.version} format={(value) => value} /> · <Known value={database.size_mib} format={memory} /></dd>
          <dt>Valkey</dt>
          <dd><Health ok={valkey.ok} /> <Known value={valkey.version} format={(value) => value} /></dd>
          <dt>{t("status.agents")}</dt>
          <dd>{t("status.agentsOnline", { count: agents.online })}{agents.silent > 0 ? <span className="sig"> · {t("status.agentsSilent", { count: agents.silent })}</span> : null}</dd>
        </dl>
      </Panel>
      <Panel title={t("status.workers")} meta={t("status.workersNote")}>
        <table>
          <thead><tr><th>{t("status.queueName")}</th><th className="r">{t("status.waitingTasks")}</th></tr></thead>
          <tbody>{workers.map((queue) => <tr key={queue.name}><td>{t(`status.worker.${queue.name}`, { defaultValue: queue.name })} <span className="dim mono">{queue.name}</span></td><td className="r b"><Known value={queue.waiting} format={count} /></td></tr>)}</tbody>
        </table>
      </Panel>
      <Panel title={t("status.versions")}>
        {agents.versions.length === 0 ? <None /> : (
          <table>
            <thead><tr><th>{t("status.version")}</th><th className="r">{t("status.nodes")}</th></tr></thead>
            <tbody>{agents.versions.map((one) => <tr key={one.version}><td className="mono">{one.version || t("ui.unknown")}</td><td className="r b">{count(one.count)}</td></tr>)}</tbody>
          </table>
        )}
      </Panel>
    </>
  );
}

function Health({ ok }: { ok: boolean }) {
  const { t } = useTranslation();
  return <span className={ok ? "good b" : "crit b"}>{ok ? "✓" : "✕"} {t(ok ? "status.answers" : "status.silent")}</span>;
}
