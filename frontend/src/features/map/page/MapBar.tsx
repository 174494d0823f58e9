// The bar above the map: what is shown, how it is grouped, map or table, and the counting state chips.
import { useTranslation } from "react-i18next";
import { count } from "@/lib/format";
import { Seg } from "@/ui/Seg";
import { StateGlyph } from "@/ui/StateGlyph";
import { GROUPINGS, type Grouping } from "../pure/layout";
import { MODES } from "../pure/levels";
import { SPOTS, type Spot, type SpotCount } from "../pure/marks";
import type { MapView } from "../pure/viewState";

interface MapBarProps {
  readonly view: MapView;
  readonly counts: Record<Spot, SpotCount>;
  readonly isNarrow: boolean;
  readonly onChange: (change: Partial<MapView>) => void;
}

function GroupBy({ by, isNarrow, onChange }: { by: Grouping; isNarrow: boolean; onChange: MapBarProps["onChange"] }) {
  const { t } = useTranslation();
  return (
    <label className="btn sml groupby">
      {isNarrow ? null : <span className="dim">{t("map.by")}</span>}
      <span className={isNarrow ? undefined : "b"}>{t(`map.grouping.${by}`)}</span> <span className="dim" aria-hidden="true">▾</span>
      <select
        aria-label={t("map.groupBy")} value={by}
        onChange={(event) => { onChange({ by: GROUPINGS.find((entry) => entry === event.target.value) ?? "set-model" }); }}
      >
        {GROUPINGS.map((entry) => <option key={entry} value={entry}>{t(`map.grouping.${entry}`)}</option>)}
      </select>
    </label>
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

export function MapBar({ view, counts, isNarrow, onChange }: MapBarProps) {
  const { t } = useTranslation();
  const spots = SPOTS.filter((spot) => spot !== "recovered" || counts.recovered.devices > 0);
  return (
    <div className={isNarrow ? "mapbar narrow" : "mapbar"}>
      <h1>{t("map.title")}</h1>
      <Seg
        value={view.mode} label={t("map.show")} onChange={(mode) => { onChange({ mode }); }}
        options={MODES.map((mode) => ({ value: mode, label: t(`map.mode.${mode}`) }))}
      />
      <GroupBy by={view.by} isNarrow={isNarrow} onChange={onChange} />
      <button type="button" className="btn sml" aria-pressed={view.table} onClick={() => { onChange({ table: !view.table }); }}>
        {t("map.asTable")}
      </button>
      <span className={spots.length > 6 ? "chips many" : "chips"}>
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
