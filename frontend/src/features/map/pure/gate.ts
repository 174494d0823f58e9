// Keeps reads of one thing apart in time: asked often, it reads once per pause, and never misses the last asking.

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
