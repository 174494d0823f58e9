// The first quota of a team in a queue, of a model or of all: administrators only.
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useId, useState } from "react";
import { useTranslation } from "react-i18next";
import { mapQuery, queuesQuery, teamsQuery } from "@/api/queries";
import { amountCall, foretellAmount, setAmount } from "@/api/quotas";
import { Dialog } from "@/ui/Dialog";
import { readDevices } from "./amounts";
import { AmountField } from "./EditAmount";
import { Foretell } from "./Foretell";

export function NewQuota({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const queues = (useQuery(queuesQuery).data ?? []).filter((queue) => !queue.closed);
  const teams = useQuery(teamsQuery).data?.results ?? [];
  const [chosen, setChosen] = useState<{ queue?: string; team?: string }>({});
  const [model, setModel] = useState("");
  const [text, setText] = useState("");
  const queue = chosen.queue ?? queues[0]?.name;
  const team = chosen.team ?? teams[0]?.slug;
  const milli = readDevices(text);
  const quota = queue && team ? { queue, team, model: model.trim() || null } : null;
  return (
    <Dialog title={t("quotas.newQuota")} onClose={onClose}>
      <div style={{ display: "grid", gap: 10 }}>
        <Labelled label={t("quotas.queue")}>
          <select className="field" value={queue} onChange={(event) => setChosen({ ...chosen, queue: event.target.value })}>{queues.map(({ name }) => <option key={name}>{name}</option>)}</select>
        </Labelled>
        <Labelled label={t("quotas.team")}>
          <select className="field" value={team} onChange={(event) => setChosen({ ...chosen, team: event.target.value })}>{teams.map(({ slug }) => <option key={slug}>{slug}</option>)}</select>
        </Labelled>
        {teams.length === 0 ? <p className="note">{t("quotas.noTeams")}</p> : null}
        <ModelField model={model} onChange={setModel} />
        <AmountField model={quota?.model ?? null} text={text} onChange={setText} />
      </div>
      <Foretell wish={quota && milli !== null ? { quota, milli } : null} callOf={amountCall} foretell={foretellAmount} save={setAmount} onClose={onClose} />
    </Dialog>
  );
}

function ModelField({ model, onChange }: { model: string; onChange: (model: string) => void }) {
  const { t } = useTranslation();
  const list = useId();
  const { data: map } = useQuery(mapQuery);
  return (
    <Labelled label={t("quotas.modelOptional")}>
      <input className="field" list={list} value={model} autoComplete="off" onChange={(event) => onChange(event.target.value)} />
      <datalist id={list}>{(map?.models ?? []).map((name) => <option key={name} value={name} />)}</datalist>
    </Labelled>
  );
}

function Labelled({ label, children }: { label: string; children: ReactNode }) {
  return <label style={{ display: "grid", gap: 4 }}><span className="sm mut">{label}</span>{children}</label>;
}
