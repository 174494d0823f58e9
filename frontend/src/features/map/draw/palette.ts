// The colours and the face of the canvas, read from the design tokens of the theme in force.

const TOKENS = {
  bg: "--bg",
  surface: "--surface",
  raise: "--raise",
  line: "--line",
  lineStrong: "--line-strong",
  ink: "--ink",
  ink2: "--ink-2",
  ink3: "--ink-3",
  track: "--track",
  booked: "--booked",
  water: "--water",
  waterArea: "--water-area",
  signal: "--signal",
  signalFill: "--signal-fill",
  crit: "--crit",
  focus: "--focus",
  unknown: "--st-unknown",
  recovered: "--st-recovered",
  font: "--font-ui",
} as const;

export type Palette = Readonly<Record<keyof typeof TOKENS, string>> & {
  readonly ramp: readonly string[];
  /** Colours of queues and teams. */
  readonly categories: readonly string[];
  /** Ground of a tile: raised paper in the light theme, the sheet itself in the dark one. */
  readonly tile: string;
  /** Step of the ramp from which on figures stand in the paper colour. */
  readonly rampTurn: number;
};

const CATEGORIES = Array.from({ length: 6 }, (_, place) => `--cat-${String(place + 1)}`);
const RAMP = Array.from({ length: 9 }, (_, step) => `--load-${String(step)}`);

/** Read every token once; call again when the theme changes. */
export function readPalette(root: HTMLElement = document.documentElement): Palette {
  const style = getComputedStyle(root);
  const read = (token: string): string => style.getPropertyValue(token).trim();
  const colours = Object.fromEntries(Object.entries(TOKENS).map(([name, token]) => [name, read(token)])) as Record<
    keyof typeof TOKENS,
    string
  >;
  const dark = root.dataset.theme === "dark";
  return { ...colours, ramp: RAMP.map(read), categories: CATEGORIES.map(read), tile: dark ? colours.bg : colours.raise, rampTurn: dark ? 4 : 5 };
}
