// Keeps reads of one thing apart in time: asked often, it reads at most once per pause, and never misses the last asking.

/** Wrap `read`: askings during a pause share one read, an asking during a read is answered by the read after it. */
export function gated<T>(read: () => Promise<T>, deliver: (value: T) => void, pauseMs: number): () => Promise<T> {
  let current: Promise<T> | null = null;
  let following: Promise<T> | null = null;
  let isReading = false;
  let endedAt = -Infinity;

  const run = async (): Promise<T> => {
    const rest = endedAt + pauseMs - performance.now();
    if (rest > 0) await new Promise((resolve) => setTimeout(resolve, rest));
    isReading = true;
    try {
      const value = await read();
      deliver(value);
      return value;
    } finally {
      isReading = false;
      endedAt = performance.now();
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
