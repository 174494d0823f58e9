// How a job ended is told by its class first: a time limit ends a program by a signal, yet it is the limit that counts.
import { describe, expect, it } from "vitest";
import { outcomeKey } from "./Outcome";

const failed = (change: object) => outcomeKey({ status: "failed", exit_class: null, exit_code: null, exit_signal: null, ...change } as Parameters<typeof outcomeKey>[0]);

describe("outcome", () => {
  it("of a job over its time limit is the limit, not the signal", () => expect(failed({ exit_class: "time-limit", exit_signal: 15 })).toBe("time-limit"));
  it("of a killed program is its signal", () => expect(failed({ exit_class: "signal", exit_signal: 9 })).toBe("signal"));
  it("of a program that ended by itself is its code", () => expect(failed({ exit_class: "exit-code", exit_code: 3 })).toBe("exit-code"));
  it("without a class is read from what is there", () => {
    expect(failed({ exit_signal: 9 })).toBe("signal");
    expect(failed({ exit_code: 1 })).toBe("exit-code");
    expect(failed({})).toBe("unknown");
  });
});
