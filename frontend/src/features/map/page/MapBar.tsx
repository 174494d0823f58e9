// The bar above the map: what is shown, how it is grouped, map or table, and the counting state chips.
import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { count } from "@/lib/format";
import { Seg } from "@/ui/Seg";
import { StateGlyph } from "@/ui/StateGlyph";
import { GROUPINGS } from "../pure/layout";
import { MODES, type MapMode } from "../pure/levels";
import { SPOTS, type Spot, type SpotCount } from "../pure/marks";
import type { MapView } from "../pure/viewState";

interface MapBarProps {
  readonly view: MapView;
  readonly counts: Record<Spot, SpotCount>;
  /** How many nodes are lit; null while nothing is filtered. */
  readonly lit: number | null;
  readonly isNarrow: boolean;
  readonly isWide: boolean;
  readonly onChange: (change: Partial<MapView>) => void;
}

interface ChoiceProps<T extends string> {
  readonly label: string;
  /** A word before the choice. */
  readonly before?: string | undefined;
  readonly value: T;
  readonly options: readonly { readonly value: T; readonly label: string }[];
  readonly onChange: (value: T) => void;
}

/** One choice of some, as a button that opens the browser's own list. */
function Choice<T extends string>({ label, before, value, options, onChange }: ChoiceProps<T>) {
  const chosen = options.find((option) => option.value === value);
  return (
    <label className="btn sml choice">
      {before ? <span className="dim">{before}</span> : null}
      <span className={before ? "b" : undefined}>{chosen?.label}</span> <span className="dim" aria-hidden="true">▾</span>
      <select aria-label={label} value={value} onChange={(event) => { onChange(options.find((option) => option.value === event.target.value)?.value ?? value); }}>
        {options.map((option) => <option key={option.value} value={option.value}>{option.label}</option>)}
      </select>
    </label>
  );
}

function Show({ view, isWide, onChange }: Pick<MapBarProps, "view" | "isWide" | "onChange">) {
  const { t } = useTranslation();
  const given = {
    label: t("map.show"), value: view.mode, options: MODES.map((mode) => ({ value: mode, label: t(`map.mode.${mode}`) })),
    onChange: (mode: MapMode) => { onChange({ mode }); },
  };
  return isWide ? <Seg {...given} /> : <Choice {...given} />;
}

const TYPING_MS = 200;

function Find({ find, lit, onChange }: { find: string | null; lit: number | null; onChange: MapBarProps["onChange"] }) {
  const { t } = useTranslation();
  const field = useRef<HTMLInputElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    if (field.current && document.activeElement !== field.current) field.current.value = find ?? "";
  }, [find]);
  const typed = (text: string): void => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => { onChange({ find: text.trim() === "" ? null : text.trim() }); }, TYPING_MS);
  };
  return (
    <>
      <input
        ref={field} className="field sml find" type="search" defaultValue={find ?? ""} placeholder={t("map.find")} aria-label={t("map.findLabel")} title={t("map.findLabel")}
        onChange={(event) => { typed(event.target.value); }}
      />
      <span className={find === null ? "visually-hidden" : "xs dim"} role="status">{find === null || lit === null ? "" : t("map.nodes", { count: lit, nodes: count(lit) })}</span>
    </>
  );
}

function SpotChip({ spot, found, isPressed, isNarrow, onPress }: {
  spot: Spot; found: SpotCount; isPressed: boolean; isNarrow: boolean; onPress: () => void;
}) {
  const { t } = useTranslation();
  const name = t(`ui.state.${spot}`);
  const total = count(found.nodes + found.devices);
  const parts = [
    found.nodes > 0 ? t("map.nodes", { count: found.nodes, nodes: count(found.nodes) }) : "",
    found.devices > 0 ? t("map.devices", { count: found.devices, devices: count(found.devices) }) : "",
  ].filter((part) => part !== "");
  const words = parts.length > 0 ? `${name}: ${parts.join(", ")}` : `${name}: 0`;
  return (
    <button type="button" className="chip" title={words} aria-label={words} aria-pressed={isPressed} onClick={onPress}>
      <StateGlyph state={spot} /> {isNarrow ? null : <span className="word">{name}</span>} <b>{total}</b>
    </button>
  );
}

export function MapBar({ view, counts, lit, isNarrow, isWide, onChange }: MapBarProps) {
  const { t } = useTranslation();
  const spots = SPOTS.filter((spot) => spot !== "recovered" || counts.recovered.devices > 0);
  return (
    <div className={isNarrow ? "mapbar narrow" : "mapbar"}>
      <h1>{t("map.title")}</h1>
      <Show view={view} isWide={isWide} onChange={onChange} />
      <Choice
        label={t("map.groupBy")} before={isNarrow ? undefined : t("map.by")} value={view.by} onChange={(by) => { onChange({ by }); }}
        options={GROUPINGS.map((value) => ({ value, label: t(`map.grouping.${value}`) }))}
      />
      <button type="button" className="btn sml" aria-pressed={view.table} onClick={() => { onChange({ table: !view.table }); }}>
        {t("map.asTable")}
      </button>
      <Find find={view.find} lit={lit} onChange={onChange} />
      <span className="chips">
        {spots.map((spot) => (
          <SpotChip
            key={spot} spot={spot} found={counts[spot]} isPressed={view.spot === spot} isNarrow={isNarrow}
            onPress={() => { onChange({ spot: view.spot === spot ? null : spot }); }}
          />
        ))}
      </span>
    </div>
  );
}
