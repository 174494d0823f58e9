// The same data as the canvas, as a table that sorts.
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { count, percent, power, withUnit } from "@/lib/format";
import { StateGlyph } from "@/ui/StateGlyph";
import { Known, None, NotApplicable } from "@/ui/Words";
import type { Filter } from "../pure/marks";
import type { ClusterMap, MapDevice, MapNode } from "../pure/model";
import { SORTS, sortRows, tableRows, type Sort, type TableRow } from "../pure/table";

const PAGE_ROWS = 200;
const RIGHT: ReadonlySet<Sort> = new Set<Sort>(["booked", "measured", "memoryBooked", "memoryMeasured", "tempC", "powerMw", "jobs"]);

interface MapTableProps {
  readonly map: ClusterMap;
  readonly filter: Filter;
  readonly onOpen: (node: MapNode, device: MapDevice | null) => void;
}

function Share({ value }: { value: number | null }) {
  return <Known value={value} format={(share) => percent(share * 100, 0)} />;
}

function Holder({ row, name }: { row: TableRow; name: string | null }) {
  const { t } = useTranslation();
  if (name !== null) return <>{name}</>;
  if (row.jobs === null) return <NotApplicable />;
  return row.jobs > 0 ? <span className="dim">{t("map.anotherTeam")}</span> : <None />;
}

function StateCell({ row }: { row: TableRow }) {
  const { t } = useTranslation();
  const state = row.health ?? row.node.state;
  const isNodeWorth = row.health !== null && row.node.state !== "ready";
  return (
    <td className="nw">
      <StateGlyph state={state} /> {t(`ui.state.${state}`)}
      {row.isCordoned ? <span className="mut"> · {t("ui.state.cordoned")}</span> : null}
      {isNodeWorth ? <span className="mut"> · {t("map.nodeIs", { state: t(`ui.state.${row.node.state}`) })}</span> : null}
    </td>
  );
}

function Row({ row, onOpen }: { row: TableRow; onOpen: MapTableProps["onOpen"] }) {
  const { t } = useTranslation();
  const { device } = row;
  const parts = [row.node.name, row.index === null ? "" : t("map.device", { index: row.index }), row.slice === null ? "" : t("map.slice", { index: row.slice })];
  const name = parts.filter((part) => part !== "").join(" · ");
  return (
    <tr className="go">
      <td><button type="button" className="linkish" onClick={() => { onOpen(row.node, device); }}>{name}</button></td>
      <td>{row.nodeSet ?? <None />}</td>
      <td>{row.rack ?? <None />}</td>
      <td>{device ? <Known value={row.model} format={(model) => model} /> : <span className="dim">{t("map.noAccelerator")}</span>}</td>
      <StateCell row={row} />
      <td className="r"><Share value={row.booked} /></td>
      <td className="r"><Share value={row.measured} /></td>
      <td className="r"><Share value={row.memoryBooked} /></td>
      <td className="r"><Share value={row.memoryMeasured} /></td>
      <td className="r">{device ? <Known value={row.tempC} format={(value) => withUnit(value, "°C")} /> : <NotApplicable />}</td>
      <td className="r">{device ? <Known value={row.powerMw} format={(value) => power(Math.round(value / 1000))} /> : <NotApplicable />}</td>
      <td className="r">{row.jobs === null ? <NotApplicable /> : count(row.jobs)}</td>
      <td><Holder row={row} name={row.queue} /></td>
      <td><Holder row={row} name={row.team} /></td>
    </tr>
  );
}

function Head({ sort, isDown, onSort }: { sort: Sort; isDown: boolean; onSort: (sort: Sort) => void }) {
  const { t } = useTranslation();
  return (
    <tr>
      {SORTS.map((column) => (
        <th key={column} scope="col" className={RIGHT.has(column) ? "r" : undefined} aria-sort={column === sort ? (isDown ? "descending" : "ascending") : "none"}>
          <button type="button" className="sorter" onClick={() => { onSort(column); }}>
            {t(`map.column.${column}`)} {column === sort ? <span aria-hidden="true">{isDown ? "▾" : "▴"}</span> : null}
          </button>
        </th>
      ))}
    </tr>
  );
}

export function MapTable({ map, filter, onOpen }: MapTableProps) {
  const { t } = useTranslation();
  const [sort, setSort] = useState<Sort>("name");
  const [isDown, setDown] = useState(false);
  const [shown, setShown] = useState(PAGE_ROWS);
  const rows = useMemo(() => sortRows(tableRows(map, filter), sort, isDown), [map, filter, sort, isDown]);
  const sortBy = (column: Sort): void => {
    setDown(column === sort && !isDown);
    setSort(column);
  };
  return (
    <div className="maptable" tabIndex={0}>
      <table>
        <caption className="visually-hidden">{t("map.tableCaption")}</caption>
        <thead><Head sort={sort} isDown={isDown} onSort={sortBy} /></thead>
        <tbody>{rows.slice(0, shown).map((row) => <Row key={row.key} row={row} onOpen={onOpen} />)}</tbody>
      </table>
      <div className="row more">
        <span className="dim sm">{t("map.rowsShown", { shown: count(Math.min(shown, rows.length)), total: count(rows.length) })}</span>
        {shown < rows.length ? (
          <button type="button" className="btn sml" onClick={() => { setShown(shown + PAGE_ROWS); }}>{t("ui.more")}</button>
        ) : null}
      </div>
    </div>
  );
}
