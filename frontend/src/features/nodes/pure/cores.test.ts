// Cores by NUMA node and physical core, and who sits on them.
import { describe, expect, it } from "vitest";
import type { Cpu, NodePlacement } from "@/api/types";
import { coreGroups, countCores, cpuUse, frequencies, letterOf, placementLetters } from "./cores";

const cpu = (over: Partial<Cpu>): Cpu => ({
  id: 0, core: 0, socket: 0, numa: 0, max_mhz: 3500, online: true, reserved: false, placement: null, job: null, ...over,
});
// Two sockets of two cores with two threads each: 0-3 the first threads, 4-7 the second.
const cpus = Array.from({ length: 8 }, (_, id) => cpu({ id, core: id % 2, socket: id % 4 < 2 ? 0 : 1, numa: id % 4 < 2 ? 0 : 1 }));
const numa = [{ id: 0, cpus: [0, 1, 4, 5], memory_mib: 1024, distances: [10, 21] }, { id: 1, cpus: [2, 3, 6, 7], memory_mib: null, distances: [21, 10] }];

describe("coreGroups", () => {
  it("puts the threads of a core together below their NUMA node", () => {
    const groups = coreGroups(cpus, numa);
    expect(groups.map((group) => [group.numa, group.memoryMib])).toEqual([[0, 1024], [1, null]]);
    expect(groups.map((group) => group.cores.map((core) => core.cpus.map((entry) => entry.id)))).toEqual([[[0, 4], [1, 5]], [[2, 6], [3, 7]]]);
  });

  it("keeps CPUs of an unknown NUMA node apart, not in node 0", () => {
    const groups = coreGroups([cpu({ id: 0, numa: null, core: 0 }), cpu({ id: 1, numa: null, core: 1 }), cpu({ id: 2 })], numa);
    expect(groups.map((group) => [group.numa, group.cores.length])).toEqual([[0, 1], [null, 2]]);
  });
});

describe("use", () => {
  it("tells offline, booked, reserved and free", () => {
    expect([{ online: false, job: 3 }, { job: 3, placement: 9 }, { reserved: true }, {}].map((over) => cpuUse(cpu(over))))
      .toEqual(["offline", "booked", "reserved", "free"]);
  });

  it("counts physical and logical cores", () => {
    const taken = cpus.map((entry) => (entry.id < 3 ? { ...entry, job: 1, placement: 1 } : entry));
    expect(countCores(taken)).toEqual({ physical: 4, logical: 8, booked: 3, reserved: 0, offline: 0, free: 5 });
  });

  it("gives the span of frequencies, unknown where none is read", () => {
    expect(frequencies([cpu({ max_mhz: 2600 }), cpu({}), cpu({ max_mhz: null })])).toEqual([2600, 3500]);
    expect(frequencies([cpu({ max_mhz: null })])).toBeNull();
  });
});

describe("letters", () => {
  it("run on after Z", () => expect([0, 25, 26].map(letterOf)).toEqual(["A", "Z", "A1"]));

  it("are given to placements that hold cores", () => {
    const placement = (id: number, held: number[]): NodePlacement =>
      ({ id, job: id, job_name: "j", attempt: 1, phase: "running", cpus: held, slices: [] });
    expect([...placementLetters([placement(4, [1]), placement(5, []), placement(6, [2])])]).toEqual([[4, "A"], [6, "B"]]);
  });
});
