// The queue a new job goes to when nobody chose: the one the command line presumes, else the first open one.

export const USUAL_QUEUE = "training";

export function usualQueue(queues: readonly { name: string; closed: boolean }[]): string {
  const open = queues.filter((queue) => !queue.closed);
  return (open.find((queue) => queue.name === USUAL_QUEUE) ?? open[0])?.name ?? "";
}
