// Who sits on which core: physical cores in their NUMA nodes, threads stacked, a letter for each job.
import { useTranslation } from "react-i18next";
import type { Cpu, NodeDetail } from "@/api/types";
import { cpuRanges, memory } from "@/lib/format";
import { JobLink } from "./JobLink";
import { coreGroups, countCores, cpuUse, placementLetters, type CoreGroup, type PhysicalCore } from "./pure/cores";

const CELL = 16;
const CATEGORIES = 6;

const category = (letter: string): string => `var(--cat-${String((letter.charCodeAt(0) - 65) % CATEGORIES + 1)})`;

function useCpuTitle(): (cpu: Cpu, letter: string | undefined) => string {
  const { t } = useTranslation();
  return (cpu, letter) => {
    const use = letter === undefined ? t(`nodes.cpu.${cpuUse(cpu)}`) : `${t("nodes.cpu.booked")} ${letter}`;
    const speed = cpu.max_mhz === null ? t("ui.unknown") : `${String(cpu.max_mhz)}\u202fMHz`;
    return t("nodes.cpu.title", { id: cpu.id, use, speed });
  };
}

function Cell({ cpu, letter, y }: { cpu: Cpu; letter: string | undefined; y: number }) {
  const title = useCpuTitle();
  const use = cpuUse(cpu);
  const fill = { booked: "var(--booked)", reserved: "url(#hatch)", offline: "none", free: "var(--track)" }[use];
  return (
    <g>
      <title>{title(cpu, letter)}</title>
      {use === "offline" ? (
        <rect x=".5" y={y + 0.5} width={CELL - 1} height={CELL - 1} fill="none" stroke="var(--ink-3)" strokeDasharray="2.5 2" />
      ) : (
        <rect y={y} width={CELL} height={CELL} fill={fill} />
      )}
      {use === "booked" && letter ? (
        <>
          <rect y={y + CELL - 3} width={CELL} height="3" fill={category(letter)} />
          <text x={CELL / 2} y={y + 10.5} textAnchor="middle" className="k" style={{ fontSize: letter.length > 1 ? 9 : 11 }}>{letter}</text>
        </>
      ) : null}
    </g>
  );
}

function Core({ core, letters }: { core: PhysicalCore; letters: ReadonlyMap<number, string> }) {
  return (
    <svg width={CELL} height={core.cpus.length * (CELL + 1) - 1}>
      {core.cpus.map((cpu, i) => (
        <Cell key={cpu.id} cpu={cpu} y={i * (CELL + 1)} letter={cpu.placement === null ? undefined : letters.get(cpu.placement)} />
      ))}
    </svg>
  );
}

function NumaBox({ group, letters }: { group: CoreGroup; letters: ReadonlyMap<number, string> }) {
  const { t } = useTranslation();
  const ids = group.cores.flatMap((core) => core.cpus.map((cpu) => cpu.id));
  return (
    <div className="numabox">
      <div className="sm mut">
        <b>{group.numa === null ? t("nodes.numaUnknown") : t("nodes.numa", { id: group.numa })}</b> · {t("nodes.cpus", { cpus: cpuRanges(ids) })}
        {group.memoryMib === null ? null : ` · ${memory(group.memoryMib)}`}
      </div>
      <div className="corerow">{group.cores.map((core) => <Core key={core.key} core={core} letters={letters} />)}</div>
    </div>
  );
}

function Mark({ fill, dashed = false }: { fill: string; dashed?: boolean }) {
  return (
    <svg width="12" height="12" aria-hidden="true">
      <rect x=".5" y=".5" width="11" height="11" fill={fill} {...(dashed ? { stroke: "var(--ink-3)", strokeDasharray: "2.5 2" } : {})} />
    </svg>
  );
}

function Key({ node }: { node: NodeDetail }) {
  const { t } = useTranslation();
  const found = countCores(node.cpus);
  return (
    <div className="keyline">
      <span className="it"><Mark fill="var(--booked)" /> {t("nodes.cpu.booked")} <b>{found.booked}</b></span>
      <span className="it"><Mark fill="var(--track)" /> {t("nodes.cpu.free")} <b>{found.free}</b></span>
      <span className="it"><Mark fill="url(#hatch)" /> {t("nodes.cpu.reserved")} <b>{found.reserved}</b></span>
      {found.offline > 0 ? <span className="it"><Mark fill="none" dashed /> {t("nodes.cpu.offline")} <b>{found.offline}</b></span> : null}
    </div>
  );
}

export function CoreGrid({ node }: { node: NodeDetail }) {
  const { t } = useTranslation();
  if (node.cpus.length === 0) return <span className="unk">{t("nodes.cpusUnknown")}</span>;
  const letters = placementLetters(node.placements);
  const holding = node.placements.filter((placement) => letters.has(placement.id));
  return (
    <div>
      {coreGroups(node.cpus, node.numa).map((group) => <NumaBox key={String(group.numa)} group={group} letters={letters} />)}
      <Key node={node} />
      {holding.length > 0 ? (
        <ul className="plain sm" style={{ marginTop: 4 }}>
          {holding.map((placement) => (
            <li key={placement.id}>
              <b>{letters.get(placement.id)}</b> <JobLink id={placement.job} name={placement.job_name} />
              <span className="dim"> · {t("nodes.cpus", { cpus: cpuRanges(placement.cpus) })}</span>
            </li>
          ))}
        </ul>
      ) : null}
    </div>
  );
}
