// The rail: where one can go, and the cluster's staff gauge on every page.
import { useQuery } from "@tanstack/react-query";
import { Link, useRouterState } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { overviewQuery } from "@/api/queries";
import { meQuery } from "@/api/session";
import type { Overview } from "@/api/types";
import { StaffGauge } from "@/ui/StaffGauge";
import { Icon, type IconName, Mark } from "./icons";

interface Place { to: string; name: IconName; more?: boolean; roles?: readonly string[] }

const PLACES: readonly Place[] = [
  { to: "/", name: "overview" },
  { to: "/map", name: "map" },
  { to: "/jobs", name: "jobs" },
  { to: "/queues", name: "queues" },
  { to: "/nodes", name: "nodes" },
  { to: "/policy", name: "policy", more: true },
  { to: "/what-if", name: "whatif", more: true, roles: ["admin", "operator"] },
  { to: "/health", name: "health", more: true },
  { to: "/accounts", name: "accounts", more: true, roles: ["admin", "operator"] },
  { to: "/status", name: "status", more: true },
];

export function Rail() {
  const { t } = useTranslation();
  const path = useRouterState({ select: (state) => state.location.pathname });
  const { data: me } = useQuery(meQuery);
  const here = (to: string) => (to === "/" ? path === "/" : path.startsWith(to));
  return (
    <nav className="rail" aria-label={t("app.main")}>
      <Link className="logo" to="/" aria-label="Headrace"><Mark /></Link>
      {PLACES.filter((place) => !place.roles || (me && place.roles.includes(me.role))).map(({ to, name, more }) => (
        <Link key={to} to={to} className={`to ${more ? "more" : ""}`} aria-current={here(to) ? "page" : undefined}>
          <Icon name={name} />
          {t(`app.nav.${name}`)}
        </Link>
      ))}
      <Gauge />
    </nav>
  );
}

/** What stands in the gauge: accelerators, or cores in a cluster without any. */
export function gaugeLevels(overview: Overview): { booked: number | null; measured: number | null; of: "devices" | "cores" } {
  if (overview.devices.total === 0) return { booked: overview.cpu.booked_percent, measured: overview.cpu.measured_percent, of: "cores" };
  return { booked: overview.accelerators.booked_percent, measured: overview.accelerators.measured_percent?.mean ?? null, of: "devices" };
}

const HEIGHT = 104;
const LABEL_GAP = 12;

function Gauge() {
  const { t } = useTranslation();
  const { data } = useQuery(overviewQuery);
  if (!data) return null;
  const { booked, measured, of } = gaugeLevels(data);
  const y = (value: number) => HEIGHT - (Math.min(100, value) / 100) * HEIGHT;
  const word = (value: number | null) => (value == null ? t("ui.unknown") : `${value.toFixed(0)} %`);
  const title = t("app.gauge", { of: t(`app.gaugeOf.${of}`), booked: word(booked), measured: word(measured) });
  // Two figures closer than a line of text are moved apart.
  const close = booked != null && measured != null && Math.abs(y(booked) - y(measured)) < LABEL_GAP;
  const push = close ? (LABEL_GAP - Math.abs(y(booked) - y(measured))) / 2 : 0;
  const up = booked != null && measured != null && booked >= measured ? -push : push;
  return (
    <Link to="/" className="gauge" title={title} aria-label={title}>
      <svg width="62" height={HEIGHT + 12} viewBox={`0 -6 62 ${HEIGHT + 12}`} aria-hidden="true">
        <StaffGauge x={4} y={0} height={HEIGHT} max={100} step={10} width={8} ink="var(--rail-muted)" />
        <rect x="15" width="18" height={HEIGHT} fill="var(--rail-2)" />
        {booked == null ? null : <Mark2 top={y(booked)} fill="var(--rail-booked)" label={booked.toFixed(0)} shift={up} />}
        {measured == null ? null : <Mark2 top={y(measured)} fill="var(--rail-water)" label={measured.toFixed(0)} shift={-up} />}
      </svg>
      <span style={{ marginTop: 4, lineHeight: 1.3, textAlign: "center" }}>
        {t("app.gaugeBooked")}<br />{measured == null ? t("app.gaugeMeasuredUnknown") : t("app.gaugeMeasured")}
      </span>
    </Link>
  );
}

function Mark2({ top, fill, label, shift }: { top: number; fill: string; label: string; shift: number }) {
  return (
    <>
      <rect x="15" y={top} width="18" height={HEIGHT - top} fill={fill} />
      <path d={`M15 ${top}h20`} stroke="var(--rail-ink)" strokeWidth="1.5" />
      <text x="38" y={Math.min(HEIGHT + 4, Math.max(4, top + 4 + shift))}>{label}</text>
    </>
  );
}
