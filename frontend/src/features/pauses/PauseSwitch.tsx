// The pause switch of a queue, a node set or everything: what is paused, by whom, why and since when; and the way back.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { pause, type Part, type PausedPart, pausesQuery, resume } from "@/api/pauses";
import { useMay } from "@/app/context";
import { dateTime } from "@/lib/format";
import { Confirm } from "@/ui/Dialog";
import { pauseOf } from "./pauses";

/** Nothing while it is not known whether this is paused, or when it is not and the reader may not pause it. */
export function PauseSwitch({ part }: { part: Part }) {
  const { data } = useQuery(pausesQuery);
  const may = useMay("cluster-pause");
  if (!data) return null;
  const found = pauseOf(part, data);
  if (!found && !may) return null;
  return (
    <span className="row wrap" style={{ gap: "4px 10px", display: "inline-flex" }}>
      {found ? <PausedBy found={found} /> : null}
      {may ? <Switch part={part} paused={found !== undefined} /> : null}
    </span>
  );
}

function PausedBy({ found }: { found: PausedPart }) {
  const { t } = useTranslation();
  return <span><span className="tag sig">{t("pauses.paused")}</span> <PauseWords found={found} /></span>;
}

/** Who, since when and why, as far as known. */
export function PauseWords({ found }: { found: PausedPart }) {
  const { i18n } = useTranslation();
  const known = [found.actor, found.since ? dateTime(found.since, i18n.language) : null, found.reason].filter(Boolean);
  return <span className="sm">{known.join(" · ")}</span>;
}

/** Letting everything go on; nothing for who may not. */
export function Resume() {
  return useMay("cluster-pause") ? <Switch part={{}} paused /> : null;
}

function Switch({ part, paused }: { part: Part; paused: boolean }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [asked, setAsked] = useState(false);
  const kind = part.queue ? "queue" : part.node_set ? "nodeSet" : "cluster";
  const name = part.queue ?? part.node_set ?? "";
  const verb = paused ? "resume" : "pause";
  const act = async (reason: string): Promise<void> => {
    await (paused ? resume(part, reason) : pause(part, reason));
    await client.invalidateQueries();
  };
  return (
    <>
      <button type="button" className="btn sml" aria-label={t(`pauses.${verb}Of.${kind}`, { name })} onClick={() => setAsked(true)}>{t(`pauses.${verb}`)}…</button>
      {asked ? (
        <Confirm title={t(`pauses.${verb}Of.${kind}`, { name })} action={t(`pauses.${verb}`)} reason={!paused} call={`POST /api/v1/${verb} ${JSON.stringify(part)}`} onConfirm={act} onClose={() => setAsked(false)}>
          <p>{t(`pauses.effect.${verb}.${kind}`, { name })}</p>
        </Confirm>
      ) : null}
    </>
  );
}
