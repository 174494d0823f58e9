// The nodes of one image; those that fetched it ahead can be told to give it up.
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { type Image, imageNodesQuery, type ImageOutcome, type ImagePlace, orderImage } from "@/api/images";
import { keys } from "@/api/keys";
import { rows } from "@/api/queries";
import { useMay } from "@/app/context";
import { count } from "@/lib/format";
import { Confirm, Dialog } from "@/ui/Dialog";
import { Broken, Empty, Loading, Stale } from "@/ui/ListLooks";
import { Panel } from "@/ui/Panel";
import { None } from "@/ui/Words";
import { Refused } from "./Refused";
import { Ended, Stage, Why } from "./Stage";

/** Only what was fetched ahead of demand, or is to be, may be given up by hand. */
export function isPrunable({ push }: ImagePlace): boolean {
  return push !== null && (push.stage === "done" || push.stage === "wanted" || push.stage === "failed");
}

export function ImageNodes({ image, days }: { image: Image; days?: number }) {
  const { t } = useTranslation();
  const may = useMay("node-operate");
  const query = useInfiniteQuery(imageNodesQuery(image.id, days ? { days } : {}));
  const [chosen, setChosen] = useState<readonly number[]>([]);
  const [asking, setAsking] = useState(false);
  const places = query.data ? rows(query.data) : null;
  const picked = (places ?? []).filter((place) => chosen.includes(place.node) && isPrunable(place));
  const shown = places === null ? null : <PlaceTable places={places} chosen={chosen} onChoose={may ? setChosen : null} />;
  return (
    <Panel title={t("images.nodes")} meta={t("images.onNodes", { count: image.nodes, nodes: count(image.nodes) })}>
      {shown === null ? (
        query.error ? <Broken error={query.error} onRetry={() => void query.refetch()} /> : <Loading what={t("images.reading")} />
      ) : query.error ? <Stale at={query.dataUpdatedAt}>{shown}</Stale> : shown}
      <div className="row" style={{ marginTop: 12, gap: 8 }}>
        {query.hasNextPage ? <button type="button" className="btn" disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>{t("ui.more")}</button> : null}
        <button type="button" className="btn" disabled={picked.length === 0} title={may ? t("images.onlyOurs") : t("nodes.operatorsOnly")} onClick={() => setAsking(true)}>{t("images.prune")}…</button>
      </div>
      {asking ? <PruneAsk image={image.name} places={picked} onClose={() => { setAsking(false); setChosen([]); }} /> : null}
    </Panel>
  );
}

interface TableProps { places: readonly ImagePlace[]; chosen: readonly number[]; onChoose: ((chosen: readonly number[]) => void) | null }

function PlaceTable({ places, chosen, onChoose }: TableProps) {
  const { t } = useTranslation();
  if (places.length === 0) return <Empty title={t("images.nowhere")}>{t("images.nowhereNext")}</Empty>;
  const toggle = (node: number, on: boolean) => onChoose?.(on ? [...chosen, node] : chosen.filter((one) => one !== node));
  return (
    <div className="scroll">
      <table style={{ minWidth: 760 }}>
        <thead>
          <tr>
            <th><span className="visually-hidden">{t("images.choose")}</span></th><th>{t("images.node")}</th><th>{t("images.here")}</th><th>{t("images.ahead")}</th><th>{t("images.because")}</th>
            <th>{t("images.last")}</th><th className="r">{t("images.starts")}</th><th className="r">{t("images.hits")}</th>
          </tr>
        </thead>
        <tbody>
          {places.map((place) => (
            <tr key={place.node}>
              <td>
                {onChoose && isPrunable(place) ? (
                  <input type="checkbox" aria-label={t("images.chooseNode", { node: place.node_name })} checked={chosen.includes(place.node)} onChange={(event) => toggle(place.node, event.target.checked)} />
                ) : null}
              </td>
              <td><Link to="/nodes/$id" params={{ id: place.node }}>{place.node_name}</Link></td>
              <td>{t(place.here ? "images.yes" : "images.no")}</td>
              <td>{place.push ? <Stage push={place.push} /> : <None />}</td>
              <td>{place.push ? <Why push={place.push} /> : <None />}</td>
              <td className="nw">{place.push ? <Ended push={place.push} /> : <None />}</td>
              <td className="r">{count(place.starts)}</td><td className="r">{count(place.hits)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function PruneAsk({ image, places, onClose }: { image: string; places: readonly ImagePlace[]; onClose: () => void }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const [refused, setRefused] = useState<ImageOutcome[] | null>(null);
  const kept = useRef(false);
  const [asked] = useState(places);
  const order = { action: "prune" as const, image, nodes: asked.map((place) => place.node) };
  const perform = async (reason: string) => {
    const problems = (await orderImage({ ...order, reason })).filter((outcome) => !outcome.changed);
    await queries.invalidateQueries({ queryKey: keys.images });
    kept.current = problems.length > 0;
    if (kept.current) setRefused(problems);
  };
  const title = t("images.pruneTitle", { count: asked.length });
  if (refused) return <Dialog title={title} onClose={onClose}><Refused outcomes={refused} total={asked.length} /></Dialog>;
  return (
    <Confirm title={title} action={t("images.prune")} harm reason call={`POST /api/v1/images/orders ${JSON.stringify(order)}`} onConfirm={perform} onClose={() => { if (!kept.current) onClose(); }}>
      <p>{t("images.pruneEffect", { image })}</p>
      <p className="sm">{asked.map((place) => place.node_name).join(", ")}</p>
    </Confirm>
  );
}
