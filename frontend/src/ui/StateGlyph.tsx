// States of devices and nodes: shape first, word second, colour third.
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { DeviceHealth, NodeState } from "@/api/types";
import { count } from "@/lib/format";

export type StateName = DeviceHealth | NodeState;

const RING = <circle cx="7" cy="7" r="5.2" fill="none" stroke="currentColor" strokeWidth="1.5" />;
const NINE = [3, 7, 11].flatMap((y) => [3, 7, 11].map((x) => <circle key={`${x}-${y}`} cx={x} cy={y} r="1.2" />));
const stroke = (d: string, width = 1.5) => <path d={d} fill="none" stroke="currentColor" strokeWidth={width} />;

const HEALTHY = <>{RING}<path d="M2 7.4a5 5 0 0 0 10 0z" fill="currentColor" /></>;
const BLOCK = (
  <>
    <rect x="1.2" y="1.2" width="11.6" height="11.6" fill="currentColor" />
    <path d="M4 4l6 6M10 4l-6 6" stroke="var(--surface)" strokeWidth="1.8" />
  </>
);
const HOLE = <rect x="1.8" y="1.8" width="10.4" height="10.4" fill="none" stroke="currentColor" strokeWidth="1.5" strokeDasharray="2.6 2.2" />;
const GATE = <>{stroke("M1 2.4h12M3.4 2.4v9.8M10.6 2.4v9.8", 1.8)}{stroke("M3.4 7h7.2", 1.2)}</>;
const TRIANGLE = (
  <>
    <path d="M7 1.4 13 12.4H1z" fill="none" stroke="currentColor" strokeWidth="1.5" strokeLinejoin="round" />
    {stroke("M7 5v3.6M7 10.1v1.1")}
  </>
);
const BARS = <>{stroke("M2 12V7M5.3 12V4.6", 1.7)}{stroke("M8.7 12V10M12 12v-.8", 1.7)}{stroke("M8.4 2.2l4 4M12.4 2.2l-4 4", 1.4)}</>;

const LOOKS: Record<StateName, { shape: ReactNode; colour: string }> = {
  healthy: { shape: HEALTHY, colour: "--st-healthy" },
  ready: { shape: HEALTHY, colour: "--st-healthy" },
  suspect: { shape: TRIANGLE, colour: "--st-suspect" },
  quarantined: { shape: BLOCK, colour: "--st-quarantined" },
  missing: { shape: HOLE, colour: "--st-missing" },
  lost: { shape: HOLE, colour: "--st-missing" },
  unknown: { shape: <g fill="currentColor">{NINE}</g>, colour: "--st-unknown" },
  recovered: { shape: <>{RING}{stroke("M4.4 7.2 6.3 9l3.4-4")}</>, colour: "--st-recovered" },
  enrolled: { shape: RING, colour: "--st-recovered" },
  cordoned: { shape: GATE, colour: "--ink-2" },
  draining: { shape: <>{GATE}{stroke("M7 8.6v4M5.4 11 7 12.8 8.600 11", 1.2)}</>, colour: "--ink-2" },
  maintenance: { shape: <>{GATE}{stroke("M5 9.6h4", 1.2)}</>, colour: "--ink-2" },
  silent: { shape: BARS, colour: "--st-unknown" },
};

export function stateColour(state: StateName): string {
  return `var(${LOOKS[state]?.colour ?? "--st-unknown"})`;
}

export function StateGlyph({ state, size = 14 }: { state: StateName; size?: number }) {
  return (
    <svg className="glyph" width={size} height={size} viewBox="0 0 14 14" style={{ color: stateColour(state) }} aria-hidden="true">
      {LOOKS[state]?.shape ?? LOOKS.unknown.shape}
    </svg>
  );
}

/** Glyph and word. */
export function StateWord({ state }: { state: StateName }) {
  const { t } = useTranslation();
  return (
    <span className="b nw" style={{ color: stateColour(state) }}>
      <StateGlyph state={state} /> {t(`ui.state.${state}`)}
    </span>
  );
}

/** A counting chip that, pressed, keeps only its state. */
export function StateChip({ state, number, pressed, onPress }: { state: StateName; number: number; pressed: boolean; onPress: () => void }) {
  const { t } = useTranslation();
  return (
    <button type="button" className="chip" aria-pressed={pressed} onClick={onPress}>
      <StateGlyph state={state} /> <b>{count(number)}</b> {t(`ui.state.${state}`)}
    </button>
  );
}
