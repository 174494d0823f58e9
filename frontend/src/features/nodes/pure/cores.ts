// The CPUs of a node as people look at them: by NUMA node, by physical core, with a letter for each job.
import type { Cpu, NodePlacement, NumaNode } from "@/api/types";

export interface PhysicalCore {
  readonly key: string;
  readonly socket: number | null;
  readonly core: number | null;
  readonly cpus: readonly Cpu[];
}

export interface CoreGroup {
  /** Null: the CPUs' NUMA node is unknown. */
  readonly numa: number | null;
  readonly memoryMib: number | null;
  readonly cores: readonly PhysicalCore[];
}

export type CpuUse = "booked" | "reserved" | "offline" | "free";

export function cpuUse(cpu: Cpu): CpuUse {
  if (!cpu.online) return "offline";
  if (cpu.placement !== null || cpu.job !== null) return "booked";
  return cpu.reserved ? "reserved" : "free";
}

function physicalCores(cpus: readonly Cpu[]): PhysicalCore[] {
  const cores = new Map<string, { socket: number | null; core: number | null; cpus: Cpu[] }>();
  for (const cpu of [...cpus].sort((a, b) => a.id - b.id)) {
    const key = cpu.core === null ? `cpu-${String(cpu.id)}` : `${String(cpu.socket)}-${String(cpu.core)}`;
    const core = cores.get(key) ?? { socket: cpu.socket, core: cpu.core, cpus: [] };
    core.cpus.push(cpu);
    cores.set(key, core);
  }
  return [...cores.entries()].map(([key, core]) => ({ key, ...core }));
}

/** Physical cores by NUMA node, both in their order; unknown NUMA last. */
export function coreGroups(cpus: readonly Cpu[], numa: readonly NumaNode[]): CoreGroup[] {
  const byNuma = new Map<number | null, Cpu[]>();
  for (const cpu of cpus) byNuma.set(cpu.numa, [...(byNuma.get(cpu.numa) ?? []), cpu]);
  const ids = [...byNuma.keys()].sort((a, b) => (a ?? Infinity) - (b ?? Infinity));
  return ids.map((id) => ({
    numa: id,
    memoryMib: numa.find((entry) => entry.id === id)?.memory_mib ?? null,
    cores: physicalCores(byNuma.get(id) ?? []),
  }));
}

const LETTERS = 26;

/** A, B, … Z, A1, B1, … by order of placement. */
export function letterOf(index: number): string {
  const round = Math.floor(index / LETTERS);
  return String.fromCharCode(65 + (index % LETTERS)) + (round === 0 ? "" : String(round));
}

/** Letters of placements that hold cores. */
export function placementLetters(placements: readonly NodePlacement[]): ReadonlyMap<number, string> {
  const holding = placements.filter((placement) => placement.cpus.length > 0);
  return new Map(holding.map((placement, index) => [placement.id, letterOf(index)]));
}

export interface CoreCount {
  readonly physical: number;
  readonly logical: number;
  readonly booked: number;
  readonly reserved: number;
  readonly offline: number;
  readonly free: number;
}

export function countCores(cpus: readonly Cpu[]): CoreCount {
  const uses = cpus.map(cpuUse);
  const number = (use: CpuUse): number => uses.filter((entry) => entry === use).length;
  return {
    physical: physicalCores(cpus).length, logical: cpus.length, booked: number("booked"), reserved: number("reserved"),
    offline: number("offline"), free: number("free"),
  };
}

/** Least and highest maximum frequency in MHz; null when none is known. */
export function frequencies(cpus: readonly Cpu[]): readonly [number, number] | null {
  const known = cpus.map((cpu) => cpu.max_mhz).filter((value) => value !== null);
  return known.length === 0 ? null : [Math.min(...known), Math.max(...known)];
}
