// The address keeps the edits, and the outcomes are compared figure by figure.
import { describe, expect, it } from "vitest";
import type { JobChange, Outcome } from "@/api/types";
import { change, countVerdicts, queuePairs, reasonPairs, verdictOf, waitsIn } from "./compare";
import { byDay } from "./days";
import { EMPTY_DRAFT, specOfDraft } from "./draft";
import { MOST_EDITS, readEdits, readWhatIfSearch, requestOf } from "./edits";

import { weightIn } from "./policy";

const drain = { kind: "drain-node", node: 7 };

describe("the address", () => {
  it("keeps edits and the start", () => {
    const search = readWhatIfSearch({ recording: "12", edits: JSON.stringify([drain]), run: "1" });
    expect(search).toEqual({ recording: 12, edits: JSON.stringify([drain]), run: 1 });
    expect(requestOf(search)).toEqual({ recording: 12, edits: [drain] });
  });
  it("takes edits that the router has read already", () => expect(requestOf(readWhatIfSearch({ edits: [drain] }))).toEqual({ recording: null, edits: [drain] }));
  it.each([undefined, "", "no json", "{}", '[1,{"kind":"burn-node"}]'])("reads %s as no edit", (text) => expect(readEdits(text)).toEqual([]));
  it("takes no more edits than the server", () => expect(readEdits(JSON.stringify(Array(30).fill(drain)))).toHaveLength(MOST_EDITS));
  it.each(["x", "-1", 0, 1.5])("reads recording %s as now", (recording) => expect(readWhatIfSearch({ recording })).toEqual({}));
});

const outcome = (queues: [string, number][], reasons: [string, number][]): Outcome => ({
  considered: 9, placed: 4, refused: 5, held: 0, exhausted: false, wall_ms: 3, booked_percent: { devices: null, cores: 12 },
  queues: queues.map(([name, placed]) => ({ name, placed, refused: 0, held: 0 })), reasons: reasons.map(([code, count]) => ({ code, text: code, count })),
});

describe("comparing", () => {
  it("counts jobs that a pause holds as waiting", () => expect(waitsIn({ ...outcome([], []), refused: 2, held: 3 })).toBe(5));
  it("pairs queues and reasons by name, missing ones as none", () => {
    const before = outcome([["training", 3]], [["device-busy", 4]]);
    const after = outcome([["training", 5], ["offline", 1]], [["cores-free", 9]]);
    expect(queuePairs(before, after)).toEqual([{ name: "training", before: 3, after: 5 }, { name: "offline", before: 0, after: 1 }]);
    expect(reasonPairs(before, after)).toEqual([{ name: "cores-free", before: 0, after: 9 }, { name: "device-busy", before: 4, after: 0 }]);
  });
  it("leaves the change of what is unknown unknown", () => expect(change({ name: "devices", before: null, after: 4 })).toBeNull());
  it("says what becomes of a job", () => {
    const place = { node: 1, node_name: "a" };
    const jobs = [{ before: null, after: place }, { before: place, after: null }, { before: place, after: place }, { before: null, after: null, reason_before: { code: "paused", text: "" } }] as JobChange[];
    expect(verdictOf({ before: null, after: null, reason_before: null })).toBe("waits");
    expect(jobs.map(verdictOf)).toEqual(["starts", "waits", "moves", "reason"]);
    expect(countVerdicts(jobs)).toEqual({ starts: 1, waits: 1, moves: 1, reason: 1 });
  });
});

describe("a supposed job", () => {
  it("asks only for what was written", () => expect(specOfDraft({ ...EMPTY_DRAFT, queue: "training" })).toEqual({ queue: "training", command: ["true"], resources: { cores: 1 } }));
  it("reads lists, labels and units", () => {
    const spec = specOfDraft({ ...EMPTY_DRAFT, queue: "q", devices: "2", models: "A100，H100", deviceMemory: "40 GiB", memory: "2048", labels: "simulated=true" });
    expect(spec).toMatchObject({ node_labels: { simulated: "true" }, resources: { devices: 2, device_models: ["A100", "H100"], device_memory: "40 GiB", memory: 2048 } });
  });
  it.each([{ queue: "" }, { cores: "0" }, { cores: "" }, { devices: "-1" }, { labels: "simulated" }])("is none with %o", (change) => expect(specOfDraft({ ...EMPTY_DRAFT, queue: "q", ...change })).toBeNull());
});

it("finds a weight in the policy", () => {
  const document = "scoring-weights:\n  resource-fit: 0.35\n  affinity: .25\n";
  expect(weightIn(document, "resource-fit")).toBe("0.35");
  expect(weightIn(document, "affinity")).toBe(".25");
  expect(weightIn(document, "power")).toBeNull();
});

it("groups recordings by day and keeps their order", () => {
  const [late, early, before] = [{ at: "2026-05-04T08:00" }, { at: "2026-05-04T07:00" }, { at: "2026-05-03T23:00" }];
  expect(byDay([late, early, before], (at) => at.slice(0, 10))).toEqual([["2026-05-04", [late, early]], ["2026-05-03", [before]]]);
  expect(byDay([], String)).toEqual([]);
});
