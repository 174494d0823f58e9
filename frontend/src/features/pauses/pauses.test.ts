import { expect, test } from "vitest";
import type { PausedPart } from "@/api/pauses";
import { pausedNodeSets, pauseOf } from "./pauses";

const one = (scope: PausedPart["scope"], name: string | null): PausedPart => ({ scope, name, reason: null, actor: null, since: null });
const PAUSES = [one("cluster", null), one("queue", "lab"), one("node-set", "rack")];

test("a queue and a node set of one name are told apart", () => {
  expect(pauseOf({ queue: "lab" }, PAUSES)?.scope).toBe("queue");
  expect(pauseOf({ node_set: "lab" }, PAUSES)).toBeUndefined();
  expect(pauseOf({ node_set: "rack" }, PAUSES)?.scope).toBe("node-set");
});

test("everything is a part of its own", () => {
  expect(pauseOf({}, PAUSES)?.scope).toBe("cluster");
  expect(pauseOf({}, PAUSES.slice(1))).toBeUndefined();
  expect(pausedNodeSets(PAUSES)).toEqual(["rack"]);
});
