// Fill patterns that all drawings share: hatch = out of service, signal hatch = short, water hatch = borrowed, dots = free, stipple = unknown.

export function Patterns() {
  return (
    <svg width="0" height="0" style={{ position: "absolute" }} aria-hidden="true">
      <defs>
        <Hatch id="hatch" size={6} ground="--surface" stroke="--ink-3" width={2} />
        <Hatch id="hatch-signal" size={5} ground="--signal-soft" stroke="--signal" width={2} />
        <Hatch id="hatch-water" size={5} ground="--water-soft" stroke="--water" width={2.2} />
        <Dots id="dots" fill="--booked-edge" />
        <Dots id="stipple" fill="--st-unknown" />
      </defs>
    </svg>
  );
}

function Hatch(props: { id: string; size: number; ground: string; stroke: string; width: number }) {
  const { id, size, ground, stroke, width } = props;
  return (
    <pattern id={id} width={size} height={size} patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
      <rect width={size} height={size} fill={`var(${ground})`} />
      <path d={`M0 0v${size}`} stroke={`var(${stroke})`} strokeWidth={width} />
    </pattern>
  );
}

function Dots({ id, fill }: { id: string; fill: string }) {
  return (
    <pattern id={id} width="5" height="5" patternUnits="userSpaceOnUse">
      <rect width="5" height="5" fill="var(--surface)" />
      <circle cx="1.5" cy="1.5" r="1" fill={`var(${fill})`} />
    </pattern>
  );
}
