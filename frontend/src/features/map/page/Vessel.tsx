// A vessel as the legend draws it: 10 x 26 px, the marks of the map.
import type { ReactNode } from "react";
import type { DeviceHealth } from "../pure/model";

const WIDTH = 10;
const HEIGHT = 26;
const DOTS = Array.from({ length: 27 }, (_, i) => ({ column: i % 3, row: Math.floor(i / 3) }));

interface VesselProps {
  readonly booked?: number;
  readonly measured?: number;
  readonly mark?: DeviceHealth | "cordoned";
}

function Levels({ booked, measured }: { booked: number; measured: number }) {
  const inside = Math.min(booked, measured);
  const over = Math.max(0, measured - booked);
  return (
    <>
      <rect width={WIDTH} height={HEIGHT} fill="var(--track)" />
      <rect y={HEIGHT * (1 - booked)} width={WIDTH} height={HEIGHT * booked} fill="var(--booked)" />
      <rect y={HEIGHT * (1 - inside)} width={WIDTH} height={HEIGHT * inside} fill="var(--water)" />
      {over > 0 ? <rect y={HEIGHT * (1 - measured)} width={WIDTH} height={HEIGHT * over} fill="var(--signal-fill)" /> : null}
    </>
  );
}

const SOLID: Partial<Record<DeviceHealth, ReactNode>> = {
  missing: <rect x=".5" y=".5" width="10" height="25" fill="none" stroke="var(--ink-2)" strokeDasharray="2.5 2" />,
  unknown: (
    <g fill="var(--st-unknown)">
      {DOTS.map(({ column, row }) => (
        <rect key={`${String(column)}-${String(row)}`} x={column * 4 + (row % 2 ? 2 : 0)} y={row * 3} width="1.8" height="1.8" />
      ))}
    </g>
  ),
  quarantined: (
    <>
      <rect width={WIDTH} height={HEIGHT} fill="var(--crit)" />
      <path d="M1 8l8 10M9 8l-8 10" stroke="var(--raise)" strokeWidth="1.8" />
    </>
  ),
};

export function Vessel({ booked = 0, measured = 0, mark = "healthy" }: VesselProps) {
  const solid = mark === "cordoned" ? undefined : SOLID[mark];
  return (
    <svg width="12" height={HEIGHT} aria-hidden="true">
      {solid ?? <Levels booked={booked} measured={measured} />}
      {mark === "suspect" ? (
        <>
          <path d="M-1 -3h12v3L5 6-1 0z" fill="var(--signal)" />
          <rect x="-.5" y="-.5" width="11" height="27" fill="none" stroke="var(--signal)" />
        </>
      ) : null}
      {mark === "recovered" ? <circle cx="5" cy="6" r="4" fill="var(--raise)" stroke="var(--st-recovered)" strokeWidth="1.6" /> : null}
      {mark === "cordoned" ? <path d="M-1.500 27V-1.500h13V27" fill="none" stroke="var(--ink)" strokeWidth="2" /> : null}
    </svg>
  );
}
