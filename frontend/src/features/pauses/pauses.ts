// Which pause belongs to a queue, a node set or everything.
import type { Part, PausedPart } from "@/api/pauses";

/** The pause of exactly this part; a paused cluster is not a pause of its queues. */
export function pauseOf(part: Part, pauses: readonly PausedPart[]): PausedPart | undefined {
  const scope = part.queue ? "queue" : part.node_set ? "node-set" : "cluster";
  return pauses.find((one) => one.scope === scope && one.name === (part.queue ?? part.node_set ?? null));
}

/** The names of paused node sets. */
export function pausedNodeSets(pauses: readonly PausedPart[]): readonly string[] {
  return pauses.flatMap((one) => (one.scope === "node-set" && one.name !== null ? [one.name] : []));
}
