// What an operator may do with a device; each action asks first and says to whom it happens.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { deviceAction, type DeviceAction } from "@/api/actions";
import { keys } from "@/api/keys";
import { meQuery } from "@/api/session";
import type { Device } from "@/api/types";
import { ApiCall } from "@/ui/ApiCall";
import { jobNames } from "@/features/nodes/jobNames";
import { Confirm } from "@/ui/Dialog";

const MAY = ["device-operate", "node-operate"];

/** Only good checks lead out of quarantine; an operator confirms them. */
function isReleasable(device: Device): boolean {
  return device.health === "recovered";
}

export function DeviceActions({ device }: { device: Device }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const me = useQuery(meQuery);
  const [asked, setAsked] = useState<DeviceAction | null>(null);
  const may = MAY.some((action) => me.data?.permissions.some((permission) => permission === action));
  const gate: DeviceAction = device.cordoned ? "uncordon" : "cordon";
  const who = { node: device.node_name, index: device.index };
  const refused = may ? undefined : t("nodes.operatorsOnly");
  const act = async (action: DeviceAction, reason: string): Promise<void> => {
    await deviceAction(device.id, action, reason);
    await Promise.all([keys.device(device.id), keys.node(device.node), keys.map].map((queryKey) => client.invalidateQueries({ queryKey })));
  };
  return (
    <section className="acts">
      <button type="button" className="btn sml" disabled={!may} title={refused} onClick={() => { setAsked(gate); }}>{t(`devices.action.${gate}`)}…</button>
      <button
        type="button" className="btn sml" disabled={!may || !isReleasable(device)} onClick={() => { setAsked("release"); }}
        title={refused ?? (isReleasable(device) ? undefined : t("devices.nothingToRelease"))}
      >
        {t("devices.action.release")}{isReleasable(device) ? "…" : ""}
      </button>
      <span className="last">
        <ApiCall small call={{ method: "GET", path: `/api/v1/devices/${String(device.id)}`, note: t("devices.apiNote", { path: `/api/v1/devices/${String(device.id)}` }) }} />
      </span>
      {asked ? (
        <Confirm
          title={t(`devices.ask.${asked}`, who)} action={t(`devices.action.${asked}`)} reason onClose={() => { setAsked(null); }}
          onConfirm={(reason) => act(asked, reason)} call={`POST /api/v1/devices/${String(device.id)}/${asked}`}
        >
          <p>{t(`devices.effect.${asked}`, who)}</p>
          {device.placements.length > 0 ? (
            <p className="sm" style={{ marginTop: 6 }}>
              {t("devices.goOn", { count: device.placements.length, jobs: jobNames(t, device.placements) })}
            </p>
          ) : null}
        </Confirm>
      ) : null}
    </section>
  );
}
