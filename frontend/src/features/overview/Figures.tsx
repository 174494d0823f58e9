// Figures of the day and of the last cycle.
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Overview } from "@/api/types";
import { clockTime, count, power } from "@/lib/format";
import { Panel } from "@/ui/Panel";
import { Figure, Known } from "@/ui/Words";

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <div className="sm mut">{name}</div>
      {children}
    </div>
  );
}

const figure = (value: number) => <Figure value={count(value)} />;

export function DayPanel({ overview }: { overview: Overview }) {
  const { t } = useTranslation();
  const { jobs, power_w: watts } = overview;
  return (
    <Panel title={t("overview.day")} meta={t("overview.dayNote")}>
      <div className="facts-row">
        <Fact name={t("overview.running")}><Link to="/jobs" search={{ status: "running" }}>{figure(jobs.running)}</Link></Fact>
        <Fact name={t("overview.starting")}><Link to="/jobs" search={{ status: "starting" }}>{figure(jobs.starting)}</Link></Fact>
        <Fact name={t("overview.held")}><Link to="/jobs" search={{ status: "held" }}>{figure(jobs.held)}</Link></Fact>
        <Fact name={t("overview.finished")}><Link to="/jobs" search={{ status: "succeeded,failed,cancelled" }}>{figure(jobs.finished_24h)}</Link></Fact>
        <Fact name={t("overview.failed")}><Link to="/jobs" search={{ status: "failed" }}>{figure(jobs.failed_24h)}</Link></Fact>
        <Fact name={t("overview.power")}><span className="fig"><Known value={watts} format={(value) => power(value)} /></span></Fact>
      </div>
    </Panel>
  );
}

export function LastCycle({ cycle }: { cycle: Overview["cycle"] }) {
  const { t, i18n } = useTranslation();
  return (
    <Panel title={t("overview.cycle")} meta={cycle ? clockTime(cycle.at, i18n.language) : null}>
      {cycle ? (
        <>
          <Figure value={count(cycle.wall_ms)} unit="ms" />
          <p className="sm mut" style={{ marginTop: 6 }}>{t("overview.cycleDid", { considered: count(cycle.considered), placed: count(cycle.placed), waiting: count(cycle.waiting) })}</p>
          <p className="sm" style={{ marginTop: 4 }}><Link to="/status">{t("overview.allCycles")}</Link></p>
        </>
      ) : (
        <p className="mut">{t("overview.noCycle")}</p>
      )}
    </Panel>
  );
}
