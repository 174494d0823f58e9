// The live link: the server's hints make cached answers old; without it everything is read again every ten seconds.
import type { QueryClient } from "@tanstack/react-query";
import { type Hint, staleKeys } from "./keys";

export type LinkState = "connecting" | "live" | "lost";

const GATHER_MS = 200;
/** The first hint after a quiet time waits only for those that come with it. */
const TOGETHER_MS = 30;
const POLL_MS = 10_000;
const SLOW_POLL_TICKS = 6;
const RETRY_MS = [500, 1_000, 2_000, 5_000, 10_000];

export class LiveLink {
  private readonly listeners = new Set<() => void>();
  private readonly gathered = new Map<string, readonly unknown[]>();
  private state: LinkState = "connecting";
  private socket: WebSocket | null = null;
  private timers: ReturnType<typeof setTimeout>[] = [];
  private gatherTimer: ReturnType<typeof setTimeout> | null = null;
  private flushedAt = 0;
  private attempts = 0;
  private ticks = 0;
  private stopped = true;

  constructor(private readonly queries: QueryClient, private readonly open: () => WebSocket = openSocket) {}

  start(): void {
    if (!this.stopped) return;
    this.stopped = false;
    this.connect();
    this.timers.push(setInterval(() => this.poll(), POLL_MS));
  }

  stop(): void {
    this.stopped = true;
    for (const timer of this.timers) clearTimeout(timer);
    if (this.gatherTimer) clearTimeout(this.gatherTimer);
    this.timers = [];
    this.gatherTimer = null;
    this.socket?.close();
    this.socket = null;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly current = (): LinkState => this.state;

  private become(state: LinkState): void {
    if (this.state === state) return;
    this.state = state;
    for (const listener of this.listeners) listener();
  }

  private connect(): void {
    const socket = this.open();
    this.socket = socket;
    socket.onopen = () => {
      this.attempts = 0;
      this.become("live");
      // Hints sent while the link was down are gone for good.
      void this.queries.invalidateQueries();
    };
    socket.onmessage = (message: MessageEvent<string>) => this.hear(message.data);
    socket.onclose = () => this.reconnect(socket);
  }

  private reconnect(closed: WebSocket): void {
    if (this.stopped || closed !== this.socket) return;
    this.become("lost");
    const delay = RETRY_MS[Math.min(this.attempts++, RETRY_MS.length - 1)];
    this.timers.push(setTimeout(() => !this.stopped && this.connect(), delay));
  }

  private hear(text: string): void {
    for (const key of hintKeys(text)) this.gathered.set(JSON.stringify(key), key);
    const wait = Math.max(TOGETHER_MS, this.flushedAt + GATHER_MS - Date.now());
    this.gatherTimer ??= setTimeout(() => this.flush(), wait);
  }

  private flush(): void {
    this.gatherTimer = null;
    this.flushedAt = Date.now();
    const old = [...this.gathered.values()];
    this.gathered.clear();
    for (const queryKey of old) void this.queries.invalidateQueries({ queryKey });
  }

  private poll(): void {
    this.ticks += 1;
    if (this.state === "live" && this.ticks % SLOW_POLL_TICKS !== 0) return;
    void this.queries.invalidateQueries();
  }
}

function hintKeys(text: string): readonly (readonly unknown[])[] {
  try {
    const { hint } = JSON.parse(text) as { hint?: unknown };
    return Array.isArray(hint) && typeof hint[0] === "string" ? staleKeys(hint as unknown as Hint) : [];
  } catch {
    return [];
  }
}

function openSocket(): WebSocket {
  const scheme = window.location.protocol === "https:" ? "wss:" : "ws:";
  return new WebSocket(`${scheme}//${window.location.host}/live`);
}
