// What is offered for a job follows from how it stands.
import { describe, expect, it } from "vitest";
import { BULK, canDo, readPriority } from "./acts";

const job = (status: string, code?: string) => ({ status, reason: code ? { code, text: "", params: {} } : null }) as never;

describe("acts", () => {
  it("offers what would change something", () => {
    expect(BULK.filter((act) => canDo(act, job("pending")))).toEqual(["hold", "reprioritise", "cancel"]);
    expect(BULK.filter((act) => canDo(act, job("held", "held-person")))).toEqual(["release", "reprioritise", "cancel"]);
    expect(BULK.filter((act) => canDo(act, job("held", "held-window")))).toEqual(["hold", "reprioritise", "cancel"]);
    expect(BULK.filter((act) => canDo(act, job("running")))).toEqual(["requeue", "suspend", "reprioritise", "cancel"]);
    expect(BULK.filter((act) => canDo(act, job("succeeded")))).toEqual([]);
  });
  it("reads priorities", () => {
    expect(["10", "-3", " 0 ", "1001", "1.5", "", "a"].map(readPriority)).toEqual([10, -3, 0, null, null, null, null]);
  });
});
