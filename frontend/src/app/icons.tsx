// The rail's icons and the mark.
import type { ReactNode } from "react";

export type IconName = "overview" | "map" | "jobs" | "queues" | "teams" | "calendar" | "nodes" | "images" | "policy" | "whatif" | "health" | "accounts" | "status";

const SHAPES: Record<IconName, ReactNode> = {
  overview: <path d="M2 15.5h16M4 12.5V8M8 12.5V4M12 12.5V6.5M16 12.5v-3" />,
  map: <><path d="M2.5 2.5h6v6h-6zM11.5 2.5h6v6h-6zM2.5 11.5h6v6h-6zM11.5 11.5h6v6h-6z" /><path d="M2.5 6.5h6M11.5 5h6M2.5 15h6M11.5 16h6" /></>,
  jobs: <><path d="M3 4.5h9M3 10h14M3 15.5h6" /><path d="M15 2.5v4M12 13.5v4" /></>,
  queues: <><path d="M2 6h16v8H2z" /><path d="M2 10h7v4H2z" fill="currentColor" /><path d="M12.5 3.5v13" strokeWidth="2" /></>,
  teams: <><circle cx="10" cy="6" r="2.600" /><circle cx="4.500" cy="8" r="2" /><circle cx="15.500" cy="8" r="2" /><path d="M5.500 16.500c0-3 2-4.500 4.500-4.500s4.500 1.500 4.500 4.500M1.500 14.500c0-2 1.200-3 3-3M18.500 14.500c0-2-1.200-3-3-3" /></>,
  calendar: <><path d="M2.500 4.500h15v12h-15zM2.500 8.500h15M6.500 2.500v4M13.500 2.500v4" /><path d="M5.500 11.500h5v2h-5z" fill="currentColor" /></>,
  nodes: <><path d="M2.5 3.5h15v5h-15zM2.5 11.5h15v5h-15z" /><path d="M5 6h1.500M5 14h1.500M9 6h6M9 14h6" /></>,
  images: <><path d="M3 6.500 10 3l7 3.500v7L10 17l-7-3.500z" /><path d="m3 6.500 7 3.500 7-3.500M10 10v7" /></>,
  policy: <path d="M10 3v14M5 17h10M4 6l12-1.5M4 6l-2 5.5h4zM16 4.5 14 10h4z" />,
  whatif: <><path d="M2 10h5M7 10c3 0 3-5 6-5h5M7 10c3 0 3 5 6 5h5" /><path d="M15.500 3 18 5l-2.500 2M15.500 13l2.500 2-2.500 2" strokeDasharray="none" /></>,
  health: <path d="M2 11h4l2-6 3.5 11L14 11h4" />,
  accounts: <><circle cx="7.500" cy="6.500" r="3" /><path d="M2 16.500c0-3.300 2.400-5 5.500-5s5.500 1.700 5.500 5M13 4a3 3 0 0 1 0 5.200M15.500 12.300c1.700.8 2.500 2.200 2.500 4.200" /></>,
  status: <><circle cx="10" cy="10" r="7.500" /><path d="M10 5.500V10l3 2.500" /></>,
};

export function Icon({ name }: { name: IconName }) {
  return (
    <svg width="20" height="20" viewBox="0 0 20 20" fill="none" stroke="currentColor" strokeWidth="1.5" aria-hidden="true">
      {SHAPES[name]}
    </svg>
  );
}

export function Mark({ size = 34 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 34 34" aria-hidden="true">
      <path d="M7 4v26M27 4v26" stroke="currentColor" strokeWidth="3.4" />
      <path d="M9 15c3-3 6-3 8-.6s5.2 2.2 8-.6v5.6c-2.8 2.8-6 3-8 .6s-5-2.4-8 .6z" fill="var(--logo-water)" />
      <path d="M9 25.5h16" stroke="var(--rail-signal)" strokeWidth="2" />
    </svg>
  );
}
