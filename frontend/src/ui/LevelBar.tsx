// The level bar: booked wide and quiet, measured narrow and strong, the limit a gate post, waiting a dashed room behind it.

export interface Level {
  max: number;
  booked: number;
  measured?: number | null;
  quota?: number | null;
  waiting?: number;
}

/** The bar's marks inside an <svg>, 0..width; the post stands out 4 px above and below. */
export function LevelMarks({ width, height, level }: { width: number; height: number; level: Level }) {
  const scale = level.max > 0 ? width / level.max : 0;
  const { booked, measured, quota, waiting } = level;
  const inside = quota == null ? booked : Math.min(booked, quota);
  const clip = (value: number) => Math.max(0, Math.min(width, value * scale));
  return (
    <>
      <rect width={width} height={height} fill="var(--track)" />
      {waiting ? (
        <rect x={clip(booked)} y={0.5} width={Math.max(3, clip(booked + waiting) - clip(booked))} height={height - 1} fill="none"
          stroke="var(--ink-3)" strokeDasharray="3 2.5" />
      ) : null}
      <rect width={clip(inside)} height={height} fill="var(--booked)" />
      {quota != null && booked > quota ? (
        <rect x={clip(quota)} width={clip(booked) - clip(quota)} height={height} fill="url(#hatch-water)" />
      ) : null}
      {measured == null ? null : <rect y={height * 0.32} width={clip(measured)} height={height * 0.36} fill="var(--water)" />}
      {quota == null ? null : <Post x={clip(quota)} height={height} />}
    </>
  );
}

function Post({ x, height }: { x: number; height: number }) {
  return (
    <g stroke="var(--ink)" strokeWidth="2">
      <path d={`M${x} -4V${height + 4}`} />
      <path d={`M${x - 3.5} -4h7`} />
    </g>
  );
}

/** A level bar on its own; `label` says its figures in words. */
export function LevelBar({ width = 260, height = 12, label, level }: { width?: number; height?: number; label: string; level: Level }) {
  return (
    <svg width="100%" viewBox={`0 -5 ${width} ${height + 10}`} role="img" aria-label={label}>
      <LevelMarks width={width} height={height} level={level} />
    </svg>
  );
}
