// Keeps reads of one thing apart in time: asked often, it reads once per pause, and never misses the last asking.

import type { Query, QueryFunction } from "@tanstack/react-query";

export interface Pause {
  /** Shortest time between two reads. */
  readonly leastMs: number;
  /** The pause is this many times as long as the read before it took: a slow server is asked less often. */
  readonly times: number;
  /** Longest pause. */
  readonly mostMs: number;
}

/** Wrap `read`: askings during a pause share one read, an asking during a read is answered by the read after it. */
export function gated<T>(read: () => Promise<T>, deliver: (value: T) => void, pause: Pause): () => Promise<T> {
  let current: Promise<T> | null = null;
  let following: Promise<T> | null = null;
  let isReading = false;
  let nextAt = -Infinity;

  const run = async (): Promise<T> => {
    const rest = nextAt - performance.now();
    if (rest > 0) await new Promise((resolve) => setTimeout(resolve, rest));
    isReading = true;
    const startedAt = performance.now();
    try {
      const value = await read();
      deliver(value);
      return value;
    } finally {
      isReading = false;
      const endedAt = performance.now();
      nextAt = endedAt + Math.min(pause.mostMs, Math.max(pause.leastMs, pause.times * (endedAt - startedAt)));
      current = following;
      following = null;
    }
  };

  return () => {
    if (current === null) return (current = run());
    if (!isReading) return current;
    return (following ??= current.then(run, run));
  };
}

/** A query function for what many hints make old: the server answers a read that was given up all the same, so each read
 * runs to its end and is shown, and the next one waits. A cache that was cleared, as for another reader, begins anew. */
export function gatedQuery<T>(read: () => Promise<T>, pause: Pause): QueryFunction<T> {
  const asks = new WeakMap<Query, () => Promise<T>>();
  return ({ client, queryKey }) => {
    const query = client.getQueryCache().find({ queryKey, exact: true });
    if (!query) return read();
    const ask = asks.get(query) ?? gated(read, (value) => { query.setData(value, { manual: true }); }, pause);
    asks.set(query, ask);
    return ask();
  };
}
