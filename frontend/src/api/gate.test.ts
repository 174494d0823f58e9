// Reads are spaced, shared while waiting, and the last asking is always answered by a later read.
import { QueryClient } from "@tanstack/react-query";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { gated, gatedQuery } from "./gate";

describe("gated", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("reads at once the first time and delivers", async () => {
    const deliver = vi.fn();
    await gated(() => Promise.resolve(7), deliver, { leastMs: 1000, times: 0, mostMs: 9000 })();
    expect(deliver).toHaveBeenCalledExactlyOnceWith(7);
  });

  it("shares one read among askings during the pause", async () => {
    const read = vi.fn(() => Promise.resolve(0));
    const ask = gated(read, vi.fn(), { leastMs: 1000, times: 0, mostMs: 9000 });
    await ask();
    const answers = [ask(), ask(), ask()];
    await vi.advanceTimersByTimeAsync(999);
    expect(read).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(1);
    await Promise.all(answers);
    expect(read).toHaveBeenCalledTimes(2);
  });

  it("reads again for what was asked while reading", async () => {
    let finish: (value: number) => void = () => undefined;
    const read = vi.fn(() => new Promise<number>((resolve) => { finish = resolve; }));
    const ask = gated(read, vi.fn(), { leastMs: 1000, times: 0, mostMs: 9000 });
    const first = ask();
    await vi.advanceTimersByTimeAsync(0);
    const second = ask();
    finish(1);
    expect(await first).toBe(1);
    await vi.advanceTimersByTimeAsync(1000);
    finish(2);
    expect(await second).toBe(2);
  });

  it("pauses longer after a slow read", async () => {
    const read = vi.fn(() => new Promise<number>((resolve) => setTimeout(() => { resolve(1); }, 800)));
    const ask = gated(read, vi.fn(), { leastMs: 250, times: 3, mostMs: 9000 });
    const first = ask();
    await vi.advanceTimersByTimeAsync(800);
    await first;
    void ask();
    await vi.advanceTimersByTimeAsync(2399);
    expect(read).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(read).toHaveBeenCalledTimes(2);
  });

  it("pauses no longer than the longest", async () => {
    const read = vi.fn(() => new Promise<number>((resolve) => setTimeout(() => { resolve(1); }, 800)));
    const ask = gated(read, vi.fn(), { leastMs: 250, times: 3, mostMs: 1500 });
    const first = ask();
    await vi.advanceTimersByTimeAsync(800);
    await first;
    void ask();
    await vi.advanceTimersByTimeAsync(1500);
    expect(read).toHaveBeenCalledTimes(2);
  });

  it("goes on after a failed read", async () => {
    const read = vi.fn<() => Promise<number>>().mockRejectedValueOnce(new Error("gone")).mockResolvedValue(3);
    const ask = gated(read, vi.fn(), { leastMs: 1000, times: 0, mostMs: 9000 });
    await expect(ask()).rejects.toThrow("gone");
    const again = ask();
    await vi.advanceTimersByTimeAsync(1000);
    expect(await again).toBe(3);
  });
});

describe("gatedQuery", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const queryKey = ["overview"];
  const pause = { leastMs: 1000, times: 0, mostMs: 9000 };

  function slowly(): { read: () => Promise<number>; asked: () => number } {
    let asked = 0;
    return { asked: () => asked, read: () => new Promise((resolve) => { const answer = (asked += 1); setTimeout(() => { resolve(answer); }, 300); }) };
  }

  it("shows what comes and begins no second read while hints pour in", async () => {
    const client = new QueryClient();
    const { read, asked } = slowly();
    const queryFn = gatedQuery(read, pause);
    for (let hint = 0; hint < 12; hint += 1) {
      void client.fetchQuery({ queryKey, queryFn, staleTime: 0 }).catch(() => undefined);
      await vi.advanceTimersByTimeAsync(100);
      await client.cancelQueries({ queryKey });
    }
    expect(asked()).toBe(1);
    expect(client.getQueryData(queryKey)).toBe(1);
    const last = client.fetchQuery({ queryKey, queryFn, staleTime: 0 });
    await vi.advanceTimersByTimeAsync(2000);
    expect(await last).toBe(2);
  });

  it("shows nothing of a reader who left to the next one", async () => {
    const client = new QueryClient();
    const { read } = slowly();
    const queryFn = gatedQuery(read, pause);
    void client.fetchQuery({ queryKey, queryFn }).catch(() => undefined);
    await vi.advanceTimersByTimeAsync(100);
    client.clear();
    const next = client.fetchQuery({ queryKey, queryFn });
    await vi.advanceTimersByTimeAsync(250);
    expect(client.getQueryData(queryKey)).toBeUndefined();
    await vi.advanceTimersByTimeAsync(100);
    expect(await next).toBe(2);
  });
});
