// Term bars: segments touch, their end is the sum of contributions, and no bar is longer than the weights allow.
import { expect, it } from "vitest";
import { scaleMaxPpm, segments } from "./terms";

const term = (name: string, weight: number, value: number) => ({ term: name, weight_ppm: weight, value_ppm: value, contribution_ppm: Math.round((weight * value) / 1e6) });
const TERMS = [term("resource-fit", 350_000, 920_000), term("affinity", 250_000, 0), term("fragmentation-penalty", 80_000, 800_000)];

it("stacks without gaps", () => {
  const parts = segments(TERMS);
  parts.slice(1).forEach((part, index) => expect(part.fromPpm).toBe(parts[index]?.toPpm));
  expect(parts.at(-1)?.toPpm).toBe(322_000 + 0 + 64_000);
});

it("scales to the sum of weights", () => {
  expect(scaleMaxPpm([TERMS])).toBe(680_000);
  expect(scaleMaxPpm([])).toBe(1);
});
