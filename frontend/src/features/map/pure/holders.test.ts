import { describe, expect, it } from "vitest";
import { aDevice, aNode } from "./fixture";
import { CATEGORIES, colourPlaces, holderOf, holders } from "./holders";
import type { ClusterMap } from "./model";

const map = (devices: Parameters<typeof aDevice>[0][]): ClusterMap => {
  const nodes = [aNode({ devices: devices.map((over) => aDevice(over)) })];
  return { at: "", groups: [], nodes, byId: new Map() };
};

describe("holders", () => {
  const found = map([{ queue: "offline", team: "nlp" }, { queue: "training", team: null }, { queue: "training", team: "nlp" }, {}]);

  it("counts devices by queue or by team, the largest first", () => {
    expect(holders(found, "queue")).toEqual([{ name: "training", devices: 2 }, { name: "offline", devices: 1 }]);
    expect(holders(found, "team")).toEqual([{ name: "nlp", devices: 2 }]);
  });

  it("knows none where nobody holds a device or one may not know", () => expect(holderOf(aDevice(), "team")).toBeNull());

  it("gives a colour to as many as can be told apart", () => {
    const many = Array.from({ length: CATEGORIES + 2 }, (_, i) => ({ name: `q${String(i)}`, devices: 9 }));
    expect(colourPlaces(many).size).toBe(CATEGORIES);
  });
});
