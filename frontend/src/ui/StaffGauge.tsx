// The painted ruler of a channel wall: one block per step.

interface Staff {
  x: number;
  y: number;
  height: number;
  max: number;
  step: number;
  labels?: readonly number[];
  width?: number;
  ink?: string;
}

export function StaffGauge({ x, y, height, max, step, labels = [], width = 9, ink = "var(--ink-2)" }: Staff) {
  const blocks = Math.round(max / step);
  return (
    <g>
      {Array.from({ length: blocks }, (_, i) => (
        <rect key={i} x={x + (i % 2 ? 0 : width / 2)} y={y + height - ((i + 1) * height) / blocks} width={width / 2} height={height / blocks} fill={ink} />
      ))}
      <path d={`M${x} ${y}v${height}M${x + width} ${y}v${height}`} stroke={ink} />
      {labels.map((value) => (
        <text key={value} x={x - 5} y={y + height - (value / max) * height + 4} textAnchor="end">
          {value}
        </text>
      ))}
    </g>
  );
}

/** Round steps for a staff of `max` units: about `wanted` labels of 1, 2, 2.5 or 5 times a power of ten. */
export function niceStep(max: number, wanted = 4): number {
  if (!(max > 0)) return 1;
  const raw = max / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  return ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= raw * 0.999) ?? 10) * power;
}
