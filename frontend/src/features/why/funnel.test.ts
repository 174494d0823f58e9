// The funnel begins with every node, and amounts are written in the reader's words.
import { expect, it } from "vitest";
import { NB } from "@/lib/format";
import { amountOf } from "./amount";
import { parts } from "./Changes";
import { lack } from "./Candidates";
import { fromAll } from "./Funnel";
import { measured } from "./Shortfall";

const step = (removed: number, left: number) => ({ code: "labels", label: "Labels", removed, left });

it("adds all nodes before the first filter that removed some", () => {
  expect(fromAll([step(1, 48), step(8, 40)], "All nodes").map((one) => one.left)).toEqual([49, 48, 40]);
  expect(fromAll([step(0, 48)], "All nodes")).toHaveLength(1);
  expect(fromAll([], "All nodes")).toEqual([]);
});

it("writes amounts in their units", () => {
  const t = ((key: string, values: { count: number }) => `${key}:${values.count}`) as unknown as Parameters<typeof amountOf>[2];
  expect(amountOf(40_960, "MiB", t)).toBe(`40${NB}GiB`);
  expect(amountOf(0, "MiB", t)).toBe(`0${NB}GiB`);
  expect(amountOf(8, "devices", t)).toBe("why.unit.devices:8");
  expect(amountOf(350_000, "mW", t)).toBe(`350${NB}W`);
  expect(amountOf(1200, "MiB/s", t)).toBe(`1,200${NB}MiB/s`);
  expect([amountOf(700, "milli", t), amountOf(705, "milli", t)]).toEqual([`70${NB}%`, `70.5${NB}%`]);
  expect(amountOf(1200, null, t)).toBe("1,200");
});

it("ranks by what is lacking, and leaves out what is not known", () => {
  const near = (node: number, needed: number, available: number | null) => ({ node, node_name: `n${node}`, code: "cores-free", needed, available, unit: "cores", pieces: [], score_ppm: null, terms: [] });
  expect(measured([near(1, 8, 2), near(2, 8, 6), near(3, 0, 0), near(4, 8, null)]).map((one) => one.node)).toEqual([2, 1]);
});

it("tells a small shortfall exactly", () => {
  const t = ((key: string, values: { needed?: string; available?: string }) => key === "why.lack" ? `${values.needed} of ${values.available}` : key === "why.lackUnknown" ? `${values.needed} of nobody knows` : "") as unknown as Parameters<typeof lack>[1];
  const near = { node: 1, node_name: "n1", code: "device-too-small", unit: "MiB", pieces: [], score_ppm: null, terms: [] };
  expect(lack({ ...near, needed: 102_401, available: 102_400 }, t)).toBe(`102,401${NB}MiB of 102,400${NB}MiB`);
  expect(lack({ ...near, needed: 40_960, available: 20_480 }, t)).toBe(`40${NB}GiB of 20${NB}GiB`);
  expect(lack({ ...near, needed: 40_960, available: null }, t)).toBe(`40${NB}GiB of nobody knows`);
});

it("shows of a changed section the fields that differ", () => {
  const change = { field: "resources", from: { cores: 9, memory: 2000, devices: 0 }, to: { cores: 8, memory: 1000, devices: 0 }, text: "", node_name: "n1" };
  expect(parts(change).map((part) => [part.field, part.from, part.to])).toEqual([["resources.cores", 9, 8], ["resources.memory", 2000, 1000]]);
  expect(parts({ ...change, field: "resources.cores", from: 9, to: 8 })).toHaveLength(1);
});
