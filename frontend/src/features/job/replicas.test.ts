// Which placements are the replicas of the attempt that is shown, and how each ended.
import { expect, it } from "vitest";
import type { Attempt } from "@/api/types";
import { endOf, ofAttempt, runningCount } from "./replicas";

const one = (attempt: number, replica: number, phase: Attempt["phase"] = "running") => ({ attempt, replica, phase }) as Attempt;

it("shows those of one attempt by rank", () => {
  const all = [one(1, 0, "lost"), one(1, 1, "released"), one(2, 1), one(2, 0, "preparing")];
  expect(ofAttempt(all, 2).map((each) => each.replica)).toEqual([0, 1]);
  expect(runningCount(ofAttempt(all, 2))).toBe(1);
  expect(ofAttempt(all, 3)).toEqual([]);
});

it("tells an end only where there is one", () => {
  expect(endOf({ exit_code: 0, exit_signal: null })).toEqual({ key: "replicaCode", values: { code: 0 } });
  expect(endOf({ exit_code: null, exit_signal: 9 })).toEqual({ key: "replicaSignal", values: { signal: 9 } });
  expect(endOf({ exit_code: null, exit_signal: null })).toBeNull();
});
