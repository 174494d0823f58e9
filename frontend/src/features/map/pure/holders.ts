// Who holds the devices: the queues or teams of the map, those that hold most first, since only so many have a colour.
import type { MapMode } from "./levels";
import type { ClusterMap, Holder, MapDevice } from "./model";

/** Colours that can be told apart. */
export const CATEGORIES = 6;

export const holderOf = (device: MapDevice, mode: MapMode): string | null => (mode === "team" ? device.team : device.queue);

/** All holders in the mode, by number of devices. */
export function holders(map: ClusterMap, mode: MapMode): readonly Holder[] {
  const counts = new Map<string, number>();
  for (const node of map.nodes) {
    for (const device of node.devices) {
      const name = holderOf(device, mode);
      if (name !== null) counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return [...counts].map(([name, devices]) => ({ name, devices })).sort((a, b) => b.devices - a.devices || a.name.localeCompare(b.name));
}

/** Place of each holder's colour, by name so that counts do not change it; those beyond share the colour of "others". */
export function colourPlaces(found: readonly Holder[]): ReadonlyMap<string, number> {
  const names = found.slice(0, CATEGORIES).map(({ name }) => name);
  return new Map(names.sort((a, b) => a.localeCompare(b)).map((name, i) => [name, i]));
}
