// What an operator may do with a node; each action asks first and says to whom it happens.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { nodeAction, type NodeAction } from "@/api/actions";
import { drainNode } from "@/api/inventory";
import { keys } from "@/api/keys";
import { meQuery } from "@/api/session";
import type { NodeDetail, NodeState } from "@/api/types";
import { ApiCall } from "@/ui/ApiCall";
import { Confirm } from "@/ui/Dialog";
import { jobNames } from "./jobNames";

const OFFERED: Record<NodeState, readonly NodeAction[]> = {
  enrolled: [],
  ready: ["cordon", "drain", "maintenance"],
  cordoned: ["uncordon", "drain", "maintenance"],
  draining: ["uncordon", "drain", "maintenance"],
  maintenance: ["uncordon"],
  silent: ["cordon", "maintenance"],
  lost: ["cordon", "maintenance"],
  quarantined: ["release"],
};

/** The actions that a node in this state answers to. */
export function offeredActions(state: NodeState): readonly NodeAction[] {
  return OFFERED[state] ?? [];
}

export function NodeActions({ node }: { node: NodeDetail }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const me = useQuery(meQuery);
  const [asked, setAsked] = useState<NodeAction | null>(null);
  const may = me.data?.permissions.includes("node-operate") ?? false;
  const path = `/api/v1/nodes/${String(node.id)}`;
  const [deadline, setDeadline] = useState("");
  const act = async (action: NodeAction, reason: string): Promise<void> => {
    if (action === "drain") await drainNode(node.id, { reason, deadline: deadline === "" ? null : new Date(deadline).toISOString() });
    else await nodeAction(node.id, action, reason);
    await Promise.all([keys.node(node.id), keys.map, keys.nodes()].map((queryKey) => client.invalidateQueries({ queryKey })));
  };
  return (
    <div className="nodeacts">
      {offeredActions(node.state).map((action) => (
        <button key={action} type="button" className="btn sml" disabled={!may} title={may ? undefined : t("nodes.operatorsOnly")} onClick={() => { setAsked(action); }}>
          {t(`nodes.action.${action}`)}…
        </button>
      ))}
      <ApiCall small call={{ method: "GET", path, note: t("nodes.apiNote", { path }) }} />
      {asked ? (
        <Confirm
          title={t(`nodes.ask.${asked}`, { node: node.name })} action={t(`nodes.action.${asked}`)} reason onClose={() => { setAsked(null); }}
          onConfirm={(reason) => act(asked, reason)} call={`POST ${path}/${asked}`}
        >
          <p>{t(`nodes.effect.${asked}`, { node: node.name })}</p>
          {asked === "drain" ? (
            <label style={{ display: "grid", gap: 4, marginTop: 10 }}>
              <span className="sm mut">{t("nodes.deadline")}</span>
              <input className="field" type="datetime-local" value={deadline} onChange={(event) => { setDeadline(event.target.value); }} />
              <span className="sm mut">{deadline === "" ? t("nodes.noDeadline") : t("nodes.movedThen")}</span>
            </label>
          ) : null}
          {node.placements.length > 0 ? (
            <p className="sm" style={{ marginTop: 6 }}>
              {t("nodes.jobsOn", { count: node.placements.length, jobs: jobNames(t, node.placements) })}
            </p>
          ) : null}
        </Confirm>
      ) : null}
    </div>
  );
}
