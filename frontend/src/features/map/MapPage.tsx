// The resource map: every node and device at once, with the sheet of the one that is open.
import { useCallback, useMemo, useRef } from "react";
import { useTranslation } from "react-i18next";
import { DeviceSheet } from "@/features/devices/DeviceSheet";
import { NodeSheet } from "@/features/nodes/NodeSheet";
import { clockTime } from "@/lib/format";
import { age } from "@/lib/format";
import { useNow } from "@/lib/useNow";
import { usePhone } from "@/lib/usePhone";
import { Broken, Empty, Loading } from "@/ui/ListLooks";
import { Legend } from "./page/Legend";
import { MapBar } from "./page/MapBar";
import { MapTable } from "./page/MapTable";
import { regroup } from "./pure/layout";
import { powerScaleW } from "./pure/levels";
import { countSpots } from "./pure/marks";
import type { ClusterMap, MapDevice, MapNode } from "./pure/model";
import { findDevice, findNode, nodeKey } from "./pure/viewState";
import { MapCanvas, type MapCanvasHandle } from "./stage/MapCanvas";
import type { StageInput, StageView } from "./stage/MapStage";
import { sceneWords } from "./stage/sentences";
import { useClusterMap } from "./useClusterMap";
import { useMapView, type ChangeView } from "./useMapView";
import { useRoom } from "./useRoom";
import "./map.css";

const ZOOM_STEP = 1.6;

export function MapPage() {
  const { t } = useTranslation();
  const query = useClusterMap();
  if (query.data && query.data.nodes.length > 0) {
    return <Cluster map={query.data} staleAt={query.error ? query.dataUpdatedAt : null} />;
  }
  return (
    <div className="page">
      <h1>{t("map.title")}</h1>
      <div className="gap-top" style={{ maxWidth: 520 }}>
        {query.data ? <NoNodes /> : null}
        {!query.data && query.error ? <Broken error={query.error} onRetry={() => void query.refetch()} /> : null}
        {!query.data && !query.error ? <Loading what={t("map.reading")} /> : null}
      </div>
    </div>
  );
}

function NoNodes() {
  const { t } = useTranslation();
  return (
    <Empty title={t("map.empty")}>
      {t("map.emptyNext")} <a href="/nodes">{t("map.emptyLink")}</a>
      <div className="code">headrace-agent enrol --server {window.location.origin} --token …</div>
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
  const key = nodeKey(map, node);
  return device ? { device: `${key}.${String(device.index)}`, node: null } : { device: null, node: key };
}

function StaleNote({ at }: { at: number }) {
  const { t, i18n } = useTranslation();
  const now = useNow();
  const asOf = { time: clockTime(new Date(at), i18n.language), age: age(new Date(at), now) };
  return <div className="mapstale sig sm b" role="status">{t("ui.staleAsOf", asOf)}</div>;
}

function Cluster({ map, staleAt }: { map: ClusterMap; staleAt: number | null }) {
  const { t, i18n } = useTranslation();
  const [view, change] = useMapView();
  const [root, room] = useRoom();
  const isPhone = usePhone();
  const canvas = useRef<MapCanvasHandle>(null);
  const opened = useOpened(map, view.device, view.node);
  const groups = useMemo(() => regroup(map.groups, view.by), [map.groups, view.by]);
  // eslint-disable-next-line react-hooks/exhaustive-deps -- t keeps its identity when the language changes
  const words = useMemo(() => sceneWords(t, view.mode), [t, view.mode, i18n.language]);
  const counts = useMemo(() => countSpots(map), [map]);
  const input = useMemo<StageInput>(() => ({
    groups, nodes: map.nodes, mode: view.mode, spot: view.spot, words, room,
    selected: opened ? { nodeId: opened.node.id, deviceIndex: opened.device?.index ?? null } : null,
  }), [groups, map.nodes, view.mode, view.spot, words, room, opened]);
  const at = useMemo<StageView>(
    () => ({ zoom: view.z, nodeId: findNode(map, view.at)?.id ?? opened?.node.id ?? null }),
    // The place is taken from the address when the address changes, not when the data does.
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [view.z, view.at],
  );
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
    <div className="map" ref={root}>
      <div className="mapmain">
        <MapBar view={view} counts={counts} isNarrow={opened !== null || isPhone} onChange={change} />
        <div className={staleAt === null ? "mapbody" : "mapbody isstale"}>
          {staleAt === null ? null : <StaleNote at={staleAt} />}
          {view.table ? (
            <MapTable map={map} spot={view.spot} onOpen={open} />
          ) : (
            <MapCanvas ref={canvas} input={input} view={at} onView={onView} onOpen={open} onClear={close} />
          )}
        </div>
        {view.table ? null : (
          <div className="mapfoot">
            <Legend mode={view.mode} powerScaleW={powerScaleW(map.nodes)} />
            <ZoomButtons canvas={canvas} />
          </div>
        )}
      </div>
      {opened?.device ? <DeviceSheet key={opened.device.id} id={opened.device.id} onClose={close} /> : null}
      {opened && !opened.device ? <NodeSheet key={opened.node.id} id={opened.node.id} onClose={close} /> : null}
    </div>
  );
}

function ZoomButtons({ canvas }: { canvas: React.RefObject<MapCanvasHandle | null> }) {
  const { t } = useTranslation();
  return (
    <div className="seg zoom">
      <button type="button" aria-label={t("map.zoomOut")} onClick={() => canvas.current?.zoomBy(1 / ZOOM_STEP)}>−</button>
      <button type="button" aria-label={t("map.zoomIn")} onClick={() => canvas.current?.zoomBy(ZOOM_STEP)}>+</button>
      <button type="button" onClick={() => canvas.current?.showWhole()}>{t("map.whole")}</button>
    </div>
  );
}
