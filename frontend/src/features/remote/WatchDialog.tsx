// Adding a node over SSH: who signs in with which key, then the host key for a person to compare.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { keys } from "@/api/keys";
import { asProblem, type Problem } from "@/api/problem";
import { addRemoteHost, makeSshKey, scanHostKey, sshKeysQuery } from "@/api/remote";
import type { HostKey, SshKey } from "@/api/types";
import { Copyable } from "@/ui/ApiCall";
import { Dialog } from "@/ui/Dialog";
import { Field } from "@/ui/Field";
import { HostKeyCheck } from "./HostKeyCheck";

const NEW = "";
interface Wish { address: string; port: number; user: string; nodeSet: string }

export function WatchDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const [wish, setWish] = useState<Wish>({ address: "", port: 22, user: "", nodeSet: "" });
  const [key, setKey] = useState<string | null>(null);
  const [shown, setShown] = useState<HostKey | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const run = <T,>(what: Promise<T>, then: (answer: T) => void) => {
    setBusy(true);
    setProblem(null);
    what.then(then, (error: unknown) => { setProblem(asProblem(error)); setShown(null); }).finally(() => setBusy(false));
  };
  const { address, port, user, nodeSet } = wish;
  const add = (hostKey: string) => run(addRemoteHost({ address, port, user, key: key ?? "", host_key: hostKey, ...(nodeSet ? { node_set: nodeSet } : {}) }), () => {
    void queries.invalidateQueries({ queryKey: keys.remoteHosts });
    onClose();
  });
  const scan = (event: FormEvent<HTMLFormElement>) => { event.preventDefault(); run(scanHostKey(address, port), setShown); };
  return (
    <Dialog title={t("remote.add")} onClose={onClose}>
      {shown ? (
        <HostKeyCheck shown={shown}>
          <button type="button" className="btn" onClick={() => setShown(null)}>{t("remote.back")}</button>
          <button type="button" className="btn pri" disabled={busy} onClick={() => add(shown.host_key)}>{t("remote.same")}</button>
        </HostKeyCheck>
      ) : (
        <div style={{ display: "grid", gap: 12 }}>
          <p className="mut">{t("remote.addWhat")}</p>
          <KeyChoice chosen={key} problem={problem} onChoose={setKey} />
          <form onSubmit={scan} style={{ display: "grid", gap: 12 }}>
            <WayFields wish={wish} problem={problem} onChange={(change) => setWish((old) => ({ ...old, ...change }))} />
            {problem && problem.errors.length === 0 ? <div className="broken" role="alert">{said(problem)}</div> : null}
            <div className="row" style={{ justifyContent: "flex-end" }}>
              <button type="button" className="btn" onClick={onClose}>{t("ui.leaveIt")}</button>
              <button type="submit" className="btn pri" disabled={busy || !key}>{t("remote.readHostKey")}</button>
            </div>
          </form>
        </div>
      )}
    </Dialog>
  );
}

/** The sentence, and what the library said of the connection. */
export function said(problem: Problem): string {
  return [problem.message, problem.params.detail].filter((part) => typeof part === "string" && part !== "").join(" — ");
}

interface WayProps { wish: Wish; problem: Problem | null; onChange: (change: Partial<Wish>) => void }

function WayFields({ wish, problem, onChange }: WayProps) {
  const { t } = useTranslation();
  const field = (name: "address" | "user", most: number) => (
    <Field label={t(`remote.${name}`)} name={name} problem={problem}>
      <input className="field" required maxLength={most} autoCapitalize="none" spellCheck={false} value={wish[name]} onChange={(event) => onChange({ [name]: event.target.value.trim() })} />
    </Field>
  );
  return (
    <>
      {field("address", 253)}
      <Field label={t("remote.port")} name="port" problem={problem}>
        <input className="field" type="number" required min={1} max={65535} value={wish.port} onChange={(event) => onChange({ port: Number(event.target.value) })} />
      </Field>
      {field("user", 64)}
      <Field label={t("remote.nodeSetOptional")} name="node_set" problem={problem}>
        <input className="field" maxLength={100} value={wish.nodeSet} onChange={(event) => onChange({ nodeSet: event.target.value })} />
      </Field>
    </>
  );
}

interface KeyProps { chosen: string | null; problem: Problem | null; onChoose: (name: string | null) => void }

/** One of the server's keys, or a new one; with the line that lets it in. */
function KeyChoice({ chosen, problem, onChoose }: KeyProps) {
  const { t } = useTranslation();
  const { data } = useQuery(sshKeysQuery);
  const found = data?.find((one) => one.name === chosen);
  const label = (one: SshKey) => (one.public_key ? one.name : t("remote.keyUnusable", { name: one.name }));
  return (
    <>
      <Field label={t("remote.key")} name="key" problem={problem}>
        <select className="field" value={chosen ?? "?"} onChange={(event) => onChoose(event.target.value)}>
          <option value="?" disabled>{t("remote.chooseKey")}</option>
          {data?.map((one) => <option key={one.name} value={one.name} disabled={!one.public_key}>{label(one)}</option>)}
          <option value={NEW}>{t("remote.newKey")}</option>
        </select>
      </Field>
      {chosen === NEW ? <NewKey onMade={onChoose} /> : null}
      {found?.public_key ? <div><p className="sm mut" style={{ marginBottom: 4 }}>{t("remote.authorize")}</p><Copyable text={found.public_key} /></div> : null}
    </>
  );
}

function NewKey({ onMade }: { onMade: (name: string) => void }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const make = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    makeSshKey(name).then(
      async (made) => { await queries.invalidateQueries({ queryKey: keys.sshKeys }); onMade(made.name); },
      (error: unknown) => setProblem(asProblem(error)),
    );
  };
  return (
    <form onSubmit={make} style={{ display: "grid", gap: 8 }}>
      <Field label={t("remote.newKeyName")} name="name" problem={problem}>
        <input className="field" required maxLength={64} autoCapitalize="none" spellCheck={false} value={name} onChange={(event) => setName(event.target.value.trim())} />
      </Field>
      {problem && problem.errors.length === 0 ? <div className="broken" role="alert">{problem.message}</div> : null}
      <div className="row" style={{ justifyContent: "flex-end" }}><button type="submit" className="btn sml">{t("remote.makeKey")}</button></div>
    </form>
  );
}
