// What stands under the pointer, in words.
import { useTranslation } from "react-i18next";
import type { Hit } from "../pure/hit";
import { deviceMark } from "../pure/marks";
import { deviceFigures, deviceReadings, nodeFigures } from "./sentences";

const AWAY_PX = 14;
const ROOM = { width: 400, height: 140 } as const;

export function MapTip({ hit, x, y }: { hit: Hit; x: number; y: number }) {
  const { t } = useTranslation();
  const { node, vessel } = hit;
  const device = vessel === null ? undefined : node.devices[vessel];
  const model = device?.model ?? node.devices[0]?.model;
  const left = `max(0px, min(${String(x + AWAY_PX)}px, calc(100% - ${String(ROOM.width)}px)))`;
  const top = `min(${String(y + AWAY_PX)}px, calc(100% - ${String(ROOM.height)}px))`;
  return (
    <div className="tip" style={{ left, top }}>
      <b>{node.name}</b> · {model ?? t("map.cpuNode")}
      {node.state === "ready" ? null : <> · <b>{t(`ui.state.${node.state}`)}</b></>}
      <br />
      {nodeFigures(t, node)}
      {device ? (
        <>
          <br />
          <b>{t("map.device", { index: device.index })}</b> · {t(`ui.state.${deviceMark(node, device)}`)}
          {device.cordoned ? ` · ${t("ui.state.cordoned")}` : ""}
          <br />
          {deviceFigures(t, device)}
          <br />
          {deviceReadings(t, device)}
          {device.queue === null ? null : <><br />{[device.queue, device.team ?? t("map.anotherTeam")].join(" · ")}</>}
          {device.slices.length > 0 ? <><br />{t("map.tipSlices", { count: device.slices.length, booked: device.slices.filter((slice) => slice.jobs > 0).length })}</> : null}
        </>
      ) : null}
    </div>
  );
}
