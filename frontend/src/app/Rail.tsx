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
  { to: "/teams", name: "teams", more: true },
  { to: "/calendar", name: "calendar", more: true },
  { to: "/nodes", name: "nodes" },
  { to: "/images", name: "images", more: true },
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

/** How far down two figures stand whose marks are that far down: never closer than a line of text, never outside. */
export function labelsAt(booked: number, measured: number): [number, number] {
  const middle = (booked + measured) / 2;
  if (Math.abs(booked - measured) >= LABEL_GAP) return [booked, measured];
  const upper = Math.min(HEIGHT - LABEL_GAP, Math.max(0, middle - LABEL_GAP / 2));
  return booked <= measured ? [upper, upper + LABEL_GAP] : [upper + LABEL_GAP, upper];
}

function Gauge() {
  const { t } = useTranslation();
  const { data } = useQuery(overviewQuery);
  if (!data) return null;
  const { booked, measured, of } = gaugeLevels(data);
  const y = (value: number) => HEIGHT - (Math.min(100, value) / 100) * HEIGHT;
  const word = (value: number | null) => (value == null ? t("ui.unknown") : `${value.toFixed(0)} %`);
  const title = t("app.gauge", { of: t(`app.gaugeOf.${of}`), booked: word(booked), measured: word(measured) });
  const both = booked != null && measured != null ? labelsAt(y(booked), y(measured)) : null;
  return (
    <Link to="/" className="gauge" title={title} aria-label={title}>
      <svg width="62" height={HEIGHT + 12} viewBox={`0 -6 62 ${HEIGHT + 12}`} aria-hidden="true">
        <StaffGauge x={4} y={0} height={HEIGHT} max={100} step={10} width={8} ink="var(--rail-muted)" />
        <rect x="15" width="18" height={HEIGHT} fill="var(--rail-2)" />
        {booked == null ? null : <Mark2 top={y(booked)} fill="var(--rail-booked)" label={booked.toFixed(0)} at={both?.[0] ?? y(booked)} />}
        {measured == null ? null : <Mark2 top={y(measured)} fill="var(--rail-water)" label={measured.toFixed(0)} at={both?.[1] ?? y(measured)} />}
      </svg>
      <span style={{ marginTop: 4, lineHeight: 1.3, textAlign: "center" }}>
        {t("app.gaugeBooked")}<br />{measured == null ? t("app.gaugeMeasuredUnknown") : t("app.gaugeMeasured")}
      </span>
    </Link>
  );
}

function Mark2({ top, fill, label, at }: { top: number; fill: string; label: string; at: number }) {
  return (
    <>
      <rect x="15" y={top} width="18" height={HEIGHT - top} fill={fill} />
      <path d={`M15 ${top}h20`} stroke="var(--rail-ink)" strokeWidth="1.5" />
      <text x="38" y={at + 4}>{label}</text>
    </>
  );
}
