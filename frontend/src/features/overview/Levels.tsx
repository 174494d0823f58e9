// Booked and measured now, as level bars: accelerators, cores, host memory. Two marks, never one number.
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { Overview } from "@/api/types";
import { count, memory, percent } from "@/lib/format";
import { useWidth } from "@/lib/useWidth";
import { LevelMarks } from "@/ui/LevelBar";
import { Panel } from "@/ui/Panel";
import { Known } from "@/ui/Words";

interface Line { key: string; whole: string; booked: number | null; measured: number | null; note?: string | undefined }

export function LevelsPanel({ overview }: { overview: Overview }) {
  const { t } = useTranslation();
  const { accelerators, cpu, memory: host, devices } = overview;
  const marks = accelerators.measured_percent;
  const lines: Line[] = [
    ...(devices.total > 0
      ? [{
          key: "accelerators", whole: t("overview.wholeDevices", { count: devices.schedulable, devices: count(devices.schedulable) }), booked: accelerators.booked_percent, measured: marks?.mean ?? null,
          note: marks?.p95 == null ? undefined : t("overview.marks", { p50: mark(marks.p50, t), p95: mark(marks.p95, t), p99: mark(marks.p99, t) }),
        }]
      : []),
    { key: "cores", whole: t("overview.wholeCores", { count: cpu.cores, cores: count(cpu.cores) }), booked: cpu.booked_percent, measured: cpu.measured_percent },
    { key: "memory", whole: host.total_mib == null ? "" : memory(host.total_mib), booked: host.booked_percent, measured: host.measured_percent },
  ];
  return (
    <Panel title={t("overview.levels")} meta={<>{t("overview.levelsNote")} · <Link to="/nodes">{t("overview.perNode")}</Link></>}>
      {lines.map((line) => <LevelLine key={line.key} line={line} />)}
      {devices.total === 0 ? <p className="sm mut" style={{ marginTop: 6 }}>{t("overview.noAccelerators")}</p> : null}
    </Panel>
  );
}

const mark = (value: number | null, t: ReturnType<typeof useTranslation>["t"]) => (value == null ? t("ui.unknown") : percent(value, 0));

function LevelLine({ line }: { line: Line }) {
  const { t } = useTranslation();
  const [ref, width] = useWidth<HTMLDivElement>(460);
  const word = (value: number | null) => (value == null ? t("ui.unknown") : percent(value));
  return (
    <div className="level-line">
      <div>
        <div className="b">{t(`overview.level.${line.key}`)}</div>
        <div className="sm mut">{line.whole}</div>
      </div>
      <div ref={ref} style={{ minWidth: 0 }}>
        <svg width={width} height="24" role="img" aria-label={t("overview.levelLabel", { booked: word(line.booked), measured: word(line.measured) })}>
          <LevelMarks width={width} height={24} level={{ max: 100, booked: line.booked ?? 0, measured: line.measured }} />
          {line.booked == null ? <rect width={width} height={24} fill="url(#stipple)" /> : null}
        </svg>
        <div className="xs mut level-figures">
          <span>{t("overview.bookedWord")} <b><Known value={line.booked} format={(value) => percent(value)} /></b></span>
          <span>{t("overview.measuredWord")} <b><Known value={line.measured} format={(value) => percent(value)} /></b>{line.note ? ` · ${line.note}` : ""}</span>
        </div>
      </div>
    </div>
  );
}
