// The live link: hints make the right answers old, a reconnect makes all old, without it everything is read again.
import { QueryClient } from "@tanstack/react-query";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { staleKeys } from "./keys";
import { LiveLink } from "./live";

class FakeSocket {
  onopen: (() => void) | null = null;
  onmessage: ((message: { data: string }) => void) | null = null;
  onclose: (() => void) | null = null;
  close(): void {
    this.onclose?.();
  }
}

let sockets: FakeSocket[];
let old: unknown[];
let link: LiveLink;
const last = () => sockets.at(-1) as FakeSocket;
const everything = "everything";

beforeEach(() => {
  vi.useFakeTimers();
  sockets = [];
  old = [];
  const queries = new QueryClient();
  vi.spyOn(queries, "invalidateQueries").mockImplementation((filter) => {
    old.push(filter?.queryKey ?? everything);
    return Promise.resolve();
  });
  link = new LiveLink(queries, () => {
    const socket = new FakeSocket();
    sockets.push(socket);
    return socket as unknown as WebSocket;
  });
  link.start();
});

afterEach(() => {
  link.stop();
  vi.useRealTimers();
});

describe("live link", () => {
  it("reads everything again once it is up", () => {
    last().onopen?.();
    expect(link.current()).toBe("live");
    expect(old).toEqual([everything]);
  });

  it("gathers hints and names each answer once", () => {
    for (let i = 0; i < 3; i += 1) last().onmessage?.({ data: '{"hint":["job",12]}' });
    vi.advanceTimersByTime(300);
    expect(old).toEqual([["job", 12]]);
  });

  it.each(["not json", '{"hint":"jobs"}', '{"hint":[]}', "{}"])("lets %s pass", (data) => {
    last().onmessage?.({ data });
    vi.advanceTimersByTime(300);
    expect(old).toEqual([]);
  });

  it("comes back after a loss and reads everything again", () => {
    last().onopen?.();
    last().onclose?.();
    expect(link.current()).toBe("lost");
    vi.advanceTimersByTime(600);
    expect(sockets).toHaveLength(2);
    last().onopen?.();
    expect(link.current()).toBe("live");
    expect(old).toEqual([everything, everything]);
  });

  it("reads every ten seconds while it is lost, and seldom while it lives", () => {
    last().onclose?.();
    vi.advanceTimersByTime(30_000);
    expect(old.length).toBeGreaterThanOrEqual(3);
    last().onopen?.();
    old.length = 0;
    vi.advanceTimersByTime(50_000);
    expect(old.length).toBeLessThanOrEqual(1);
  });

  it("stays silent once it is stopped", () => {
    link.stop();
    const before = sockets.length;
    vi.advanceTimersByTime(60_000);
    expect(sockets).toHaveLength(before);
    expect(old).toEqual([]);
  });
});

describe("hints", () => {
  it.each<[[string, ...unknown[]], unknown[]]>([
    [["jobs"], [["jobs"], ["overview"], ["queues"]]],
    [["job", 7], [["job", 7]]],
    [["node", 3], [["node", 3], ["nodes"], ["device"]]],
    [["something-new"], [["something-new"]]],
    [["resync"], [[]]],
    [["node"], [["node"], ["nodes"], ["device"]]],
    [["reasons"], [["jobs"], ["job"], ["overview"]]],
  ])("%j", (hint, keys) => expect(staleKeys(hint)).toEqual(keys));
});
