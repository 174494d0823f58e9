// The table holds the same data as the map.
import { describe, expect, it } from "vitest";
import { aDevice, aMap, aNode } from "./fixture";
import { sortRows, tableRows } from "./table";
import type { ClusterMap, MapNode } from "./model";

const ALL = { spot: null, text: null } as const;
const mapOf = (nodes: readonly MapNode[]): ClusterMap => ({ ...aMap([]), nodes });
const nodes = [
  aNode({ id: 1, name: "n-2", devices: [aDevice({ index: 0, utilPct: null }), aDevice({ index: 1, utilPct: 90, health: "suspect" })] }),
  aNode({ id: 2, name: "n-10", devices: [aDevice({ index: 0, utilPct: 30 })] }),
  aNode({ id: 3, name: "cpu-1", bookedCores: 32, cpuUsedMilli: 16_000 }),
];

describe("tableRows", () => {
  it("has a row per device and per host without devices", () => {
    expect(tableRows(mapOf(nodes), ALL).map((row) => row.key)).toEqual(["1.0", "1.1", "2.0", "3"]);
  });

  it("narrows to the devices of the spotlight", () => {
    expect(tableRows(mapOf(nodes), { ...ALL, spot: "suspect" }).map((row) => row.key)).toEqual(["1.1"]);
  });

  it("has a row per slice after its device", () => {
    const slices = [aDevice({ id: 7, index: 0 }), aDevice({ id: 8, index: 1 })];
    const rows = tableRows(mapOf([aNode({ id: 4, devices: [aDevice({ index: 0, slices })] })]), ALL);
    expect(rows.map(({ key, slice }) => [key, slice])).toEqual([["4.0", null], ["4.0/7", 0], ["4.0/8", 1]]);
  });

  it("shows a host's cores", () => {
    expect(tableRows(mapOf(nodes), ALL)[3]).toMatchObject({ booked: 0.5, measured: 0.25, health: null, jobs: null });
  });
});

describe("sortRows", () => {
  const rows = tableRows(mapOf(nodes), ALL);

  it("sorts names as people count", () => {
    expect(sortRows(rows, "name", false).map((row) => row.key)).toEqual(["3", "1.0", "1.1", "2.0"]);
  });

  it("keeps unknown last in both directions", () => {
    expect(sortRows(rows, "measured", false).map((row) => row.key)).toEqual(["3", "2.0", "1.1", "1.0"]);
    expect(sortRows(rows, "measured", true).map((row) => row.key)).toEqual(["1.1", "2.0", "3", "1.0"]);
  });
});
