// Queues: their shares as bars on one scale, then every figure as a table.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { queuesQuery } from "@/api/queries";
import type { Queue } from "@/api/types";
import { useMay } from "@/app/context";
import { EditCaps } from "@/features/quotas/EditCaps";
import { TeamQuotas } from "@/features/quotas/TeamQuotas";
import { ValleyPanel } from "@/features/quotas/ValleyPanel";
import { PauseSwitch } from "@/features/pauses/PauseSwitch";
import { count, percent, seconds } from "@/lib/format";
import { ApiCall } from "@/ui/ApiCall";
import { Answer, Empty } from "@/ui/ListLooks";
import { Columns, PageHead, Panel } from "@/ui/Panel";
import { Known, None } from "@/ui/Words";
import { amount, ShareAxis, ShareBar } from "./ShareBar";
import { axisMax, type Share, shareOf, unitOf } from "./shares";
import "./queues.css";

export function QueuesPage() {
  const { t } = useTranslation();
  const query = useQuery(queuesQuery);
  const shares = sharesOf(query.data ?? []);
  const whole = shares[0];
  const sub = whole ? t(`queues.sub.${whole.unit}`, { amount: amount(whole.capacityMilli) }) : null;
  return (
    <div className="page">
      <PageHead title={t("queues.title")} sub={sub} actions={<ApiCall call={{ method: "GET", path: "/api/v1/queues" }} />} />
      <Answer query={query} loading={t("queues.reading")}>
        {() => (shares.length > 0 ? <Shares shares={shares} /> : <Empty title={t("queues.none")}>{t("queues.noneNext")} <Link to="/policy">{t("app.nav.policy")}</Link></Empty>)}
      </Answer>
    </div>
  );
}

function sharesOf(queues: readonly Queue[]): Share[] {
  const unit = unitOf(queues);
  return [...queues].sort((a, b) => b.priority - a.priority || a.name.localeCompare(b.name)).map((queue) => shareOf(queue, unit));
}

function Shares({ shares }: { shares: readonly Share[] }) {
  const { t } = useTranslation();
  const max = axisMax(shares);
  return (
    <>
      <section className="panel">
        <header style={{ flexWrap: "wrap" }}>
          <h2>{t("queues.sharesNow")}</h2>
          <Key />
        </header>
        {shares.map((share) => (
          <div key={share.queue.id} className="share">
            <Who queue={share.queue} />
            <ShareBar share={share} max={max} />
          </div>
        ))}
        <div className="share-axis wide-only"><ShareAxis max={max} /></div>
      </section>
      <Columns parts={[1.75, 1]} top={18}>
        <Panel title={t("queues.figures")} meta={t("queues.figuresNote")}><Figures shares={shares} /></Panel>
        <Panel title={t("queues.meaning")}><Meaning /></Panel>
      </Columns>
      <Columns parts={[1.75, 1]} top={18}>
        <TeamQuotas />
        <ValleyPanel />
      </Columns>
    </>
  );
}

function Who({ queue }: { queue: Queue }) {
  const { t } = useTranslation();
  const mayEdit = useMay("queue-edit");
  const [editing, setEditing] = useState(false);
  const models = Object.entries(queue.model_caps);
  return (
    <div>
      <div className="b" style={{ fontSize: 15 }}>
        <Link to="/jobs" search={{ queue: queue.name }} style={{ color: "var(--ink)" }}>{queue.name}</Link>
        {queue.closed ? <span className="tag" style={{ marginLeft: 8 }}>{t("queues.closed")}</span> : null}
      </div>
      <div className="sm mut">{t("queues.priority", { priority: queue.priority })} · {t(queue.preemptable ? "queues.preemptable" : "queues.neverPreempted")}</div>
      <div className="sm mut">
        <Link to="/jobs" search={{ queue: queue.name, status: "running" }}>{t("queues.running", { count: queue.running + queue.starting, jobs: count(queue.running + queue.starting) })}</Link> ·{" "}
        <Link to="/jobs" search={{ queue: queue.name, status: "pending" }}><b>{count(queue.pending)}</b> {t("queues.waiting")}</Link>
      </div>
      {models.length === 0 ? null : <div className="sm mut">{models.map(([model, share]) => t("queues.modelCap", { model, share: percent(share, Number.isInteger(share) ? 0 : 1) })).join(" · ")}</div>}
      <div className="sm row wrap" style={{ marginTop: 6 }}>
        {mayEdit && !queue.closed ? <button type="button" className="btn sml" aria-label={t("quotas.editCaps", { queue: queue.name })} onClick={() => setEditing(true)}>{t("quotas.edit")}…</button> : null}
        <PauseSwitch part={{ queue: queue.name }} />
      </div>
      {editing ? <EditCaps queue={queue} onClose={() => setEditing(false)} /> : null}
    </div>
  );
}

function Key() {
  const { t } = useTranslation();
  const item = (drawing: ReactNode, word: string) => (
    <span className="row" style={{ gap: 7 }}><svg width="26" height="12" aria-hidden="true">{drawing}</svg>{word}</span>
  );
  return (
    <span className="sm mut row wrap" style={{ gap: "4px 20px", marginLeft: 24 }}>
      {item(<rect width="26" height="12" fill="var(--booked)" />, t("queues.booked"))}
      {item(<path d="M13 -1v14M9.500 -1h7" stroke="var(--ink)" strokeWidth="2" />, t("queues.quota"))}
      {item(<rect width="26" height="12" fill="url(#hatch-water)" />, t("queues.keyBorrowed"))}
      {item(<rect x=".5" y=".5" width="25" height="11" fill="none" stroke="var(--ink-3)" strokeDasharray="3 2.5" />, t("queues.keyWaiting"))}
    </span>
  );
}

function Figures({ shares }: { shares: readonly Share[] }) {
  const { t } = useTranslation();
  return (
    <div className="scroll">
      <table style={{ minWidth: 640 }}>
        <thead>
          <tr>
            <th>{t("queues.queue")}</th><th className="r">{t("queues.quotaHead")}</th><th className="r">{t("queues.bookedOfCap")}</th>
            <th className="r">{t("queues.started")}</th><th className="r">{t("queues.mean")}</th><th className="r">P50</th><th className="r">P95</th><th className="r">P99</th>
          </tr>
        </thead>
        <tbody>{shares.map((share) => <FigureRow key={share.queue.id} share={share} />)}</tbody>
      </table>
    </div>
  );
}

function FigureRow({ share }: { share: Share }) {
  const { quota_percent: quota, wait_s: wait, name } = share.queue;
  // A queue that started nothing has no waits: they do not exist, they are not unknown.
  const span = (value: number | null) => (wait.count === 0 ? <None /> : <Known value={value} format={(known) => seconds(known)} />);
  return (
    <tr>
      <td className="b">{name}</td>
      <td className="r">{quota == null ? <None /> : percent(quota, Number.isInteger(quota) ? 0 : 1)}</td>
      <td className="r nw"><b>{amount(share.bookedMilli)}</b> <span className="dim">/ {share.capMilli == null ? <None /> : amount(share.capMilli)}</span></td>
      <td className="r">{count(wait.count)}</td>
      <td className="r nw">{span(wait.mean)}</td><td className="r nw">{span(wait.p50)}</td><td className="r nw">{span(wait.p95)}</td><td className="r nw">{span(wait.p99)}</td>
    </tr>
  );
}

function Meaning() {
  const { t } = useTranslation();
  return (
    <div className="mut">
      <p>{t("queues.capMeans")}</p>
      <p style={{ marginTop: 10 }}>{t("queues.source")} <Link to="/policy">{t("app.nav.policy")}</Link></p>
    </div>
  );
}
