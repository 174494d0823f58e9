// The resource map: every node and device at once, with the sheet of the one that is open.
import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { meQuery } from "@/api/session";
import { DeviceSheet } from "@/features/devices/DeviceSheet";
import { EnrolDialog } from "@/features/inventory/EnrolDialog";
import { NodeSheet } from "@/features/nodes/NodeSheet";
import { age, clockTime } from "@/lib/format";
import { useNow } from "@/lib/useNow";
import { usePhone } from "@/lib/usePhone";
import { Broken, Empty, Loading } from "@/ui/ListLooks";
import { Legend } from "./page/Legend";
import { MapBar } from "./page/MapBar";
import { MapTable } from "./page/MapTable";
import type { Size } from "./pure/camera";
import { regroup } from "./pure/layout";
import { colourPlaces, holders } from "./pure/holders";
import { kindOf, powerScaleW } from "./pure/levels";
import { countSpots, litNodes, type Filter } from "./pure/marks";
import type { ClusterMap, MapDevice, MapNode } from "./pure/model";
import { deviceKey, findDevice, findNode, nodeKey, type MapView } from "./pure/viewState";
import { MapCanvas, type MapCanvasHandle } from "./stage/MapCanvas";
import type { StageInput, StageView } from "./stage/MapStage";
import { sceneWords } from "./stage/sentences";
import { useClusterMap } from "./useClusterMap";
import { useMapView, type ChangeView } from "./useMapView";
import { useRoom } from "./useRoom";
import "./map.css";

const ZOOM_STEP = 1.6;
/** Room from which on every way of showing is a button of its own. */
const SEG_ROOM_PX = 1300;

export function MapPage() {
  const { t } = useTranslation();
  const query = useClusterMap();
  if (query.data && query.data.nodes.length > 0) {
    return <Cluster map={query.data} staleAt={query.error ? query.dataUpdatedAt : null} />;
  }
  return (
    <div className="page">
      <h1>{t("map.title")}</h1>
      <div className="gap-top" style={{ maxWidth: 760 }}>
        {query.data ? <NoNodes /> : null}
        {!query.data && query.error ? <Broken error={query.error} onRetry={() => void query.refetch()} /> : null}
        {!query.data && !query.error ? <Loading what={t("map.reading")} /> : null}
      </div>
    </div>
  );
}

function NoNodes() {
  const { t } = useTranslation();
  const me = useQuery(meQuery);
  const [isEnrolling, setEnrolling] = useState(false);
  const may = me.data?.permissions.includes("node-enrol") ?? false;
  return (
    <Empty title={t("map.empty")}>
      {may ? t("map.emptyNext") : t("map.emptyAsk")}
      <div className="code">headrace-agent run --server {window.location.origin} --token-file enrolment.token</div>
      {may ? (
        <button type="button" className="btn pri" style={{ marginTop: 8 }} onClick={() => { setEnrolling(true); }}>{t("map.enrol")}</button>
      ) : null}
      {isEnrolling ? <EnrolDialog onClose={() => { setEnrolling(false); }} /> : null}
    </Empty>
  );
}

interface Opened {
  readonly node: MapNode;
  readonly device: MapDevice | null;
}

function useOpened(map: ClusterMap, deviceKey: string | null, nodeName: string | null): Opened | null {
  return useMemo(() => {
    const found = findDevice(map, deviceKey);
    if (found) return found;
    const node = findNode(map, nodeName);
    return node ? { node, device: null } : null;
  }, [map, deviceKey, nodeName]);
}

function openChange(map: ClusterMap, node: MapNode, device: MapDevice | null): Parameters<ChangeView>[0] {
  return device ? { device: deviceKey(map, node, device), node: null } : { device: null, node: nodeKey(map, node) };
}

/** Index of the vessel in which a device or a slice of one stands. */
function vesselIndex({ node, device }: Opened): number | null {
  return node.devices.find((entry) => entry === device || (device !== null && entry.slices.includes(device)))?.index ?? null;
}

const NO_PLACES: ReadonlyMap<string, number> = new Map();

function StaleNote({ at }: { at: number }) {
  const { t, i18n } = useTranslation();
  const now = useNow();
  const asOf = { time: clockTime(new Date(at), i18n.language), age: age(new Date(at), now) };
  return <div className="mapstale sig sm b" role="status">{t("ui.staleAsOf", asOf)}</div>;
}

interface Shown {
  readonly map: ClusterMap;
  readonly view: MapView;
  readonly opened: Opened | null;
  readonly room: Size;
}

function useStageInput({ map, view, opened, room }: Shown): StageInput {
  const { t, i18n } = useTranslation();
  const groups = useMemo(() => regroup(map.groups, view.by), [map.groups, view.by]);
  // eslint-disable-next-line react-hooks/exhaustive-deps -- t keeps its identity when the language changes
  const words = useMemo(() => sceneWords(t, view.mode), [t, view.mode, i18n.language]);
  const lit = useMemo(() => litNodes(map.nodes, { spot: view.spot, text: view.find }), [map.nodes, view.spot, view.find]);
  const places = useMemo(() => (kindOf(view.mode) === "holder" ? colourPlaces(holders(map, view.mode)) : NO_PLACES), [map, view.mode]);
  return useMemo(() => ({
    groups, nodes: map.nodes, mode: view.mode, lit, holders: places, words, room,
    selected: opened ? { nodeId: opened.node.id, deviceIndex: vesselIndex(opened) } : null,
  }), [groups, map.nodes, view.mode, lit, places, words, room, opened]);
}

/** Where the address says the view is; it is followed when the address changes, not when the data does. */
function useStageView({ map, view, opened }: Shown): StageView {
  return useMemo(
    () => ({ zoom: view.z, nodeId: findNode(map, view.at)?.id ?? opened?.node.id ?? null }),
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [view.z, view.at],
  );
}

function Cluster({ map, staleAt }: { map: ClusterMap; staleAt: number | null }) {
  const [view, change] = useMapView();
  const [root, room] = useRoom();
  const isPhone = usePhone();
  const canvas = useRef<MapCanvasHandle>(null);
  const opened = useOpened(map, view.device, view.node);
  const shown: Shown = { map, view, opened, room };
  const input = useStageInput(shown);
  const at = useStageView(shown);
  const counts = useMemo(() => countSpots(map), [map]);
  const filter = useMemo<Filter>(() => ({ spot: view.spot, text: view.find }), [view.spot, view.find]);
  const open = useCallback((node: MapNode, device: MapDevice | null) => { change(openChange(map, node, device)); }, [change, map]);
  const close = useCallback(() => {
    change({ device: null, node: null });
    canvas.current?.takeFocus();
  }, [change]);
  const onView = useCallback((next: StageView) => {
    const node = next.nodeId === null ? undefined : map.byId.get(next.nodeId);
    change({ z: next.zoom, at: next.zoom === null || !node ? null : nodeKey(map, node) }, { replace: true });
  }, [change, map]);
  return (
    <div className="map">
      <div className="mapmain" ref={root}>
        <MapBar view={view} counts={counts} lit={input.lit?.size ?? null} isNarrow={opened !== null || isPhone} isWide={room.width >= SEG_ROOM_PX} onChange={change} />
        <div className={staleAt === null ? "mapbody" : "mapbody isstale"}>
          {staleAt === null ? null : <StaleNote at={staleAt} />}
          {view.table ? (
            <MapTable map={map} filter={filter} onOpen={open} />
          ) : (
            <MapCanvas ref={canvas} input={input} view={at} onView={onView} onOpen={open} onClear={close} />
          )}
        </div>
        {view.table ? null : <MapFoot map={map} view={view} canvas={canvas} />}
      </div>
      {opened?.device ? <DeviceSheet key={opened.device.id} id={opened.device.id} onClose={close} /> : null}
      {opened && !opened.device ? <NodeSheet key={opened.node.id} id={opened.node.id} onClose={close} /> : null}
    </div>
  );
}

type CanvasRef = React.RefObject<MapCanvasHandle | null>;

function MapFoot({ map, view, canvas }: { map: ClusterMap; view: MapView; canvas: CanvasRef }) {
  return (
    <div className="mapfoot">
      <Legend mode={view.mode} powerScaleW={powerScaleW(map.nodes)} holders={kindOf(view.mode) === "holder" ? holders(map, view.mode) : []} />
      <ZoomButtons canvas={canvas} />
    </div>
  );
}

function ZoomButtons({ canvas }: { canvas: CanvasRef }) {
  const { t } = useTranslation();
  return (
    <div className="seg zoom">
      <button type="button" aria-label={t("map.zoomOut")} onClick={() => canvas.current?.zoomBy(1 / ZOOM_STEP)}>−</button>
      <button type="button" aria-label={t("map.zoomIn")} onClick={() => canvas.current?.zoomBy(ZOOM_STEP)}>+</button>
      <button type="button" onClick={() => canvas.current?.showWhole()}>{t("map.whole")}</button>
    </div>
  );
}
