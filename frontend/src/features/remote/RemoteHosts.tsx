// The nodes that are watched over SSH: how the last look went, a new host key confirmed, one removed.
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { keys } from "@/api/keys";
import { asProblem, type Problem } from "@/api/problem";
import { rows } from "@/api/queries";
import { confirmHostKey, letFetchImages, remoteHostsQuery, removeRemoteHost, scanHostKey } from "@/api/remote";
import type { HostKey, RemoteHost } from "@/api/types";
import { useNow } from "@/lib/useNow";
import { ApiCall } from "@/ui/ApiCall";
import { Confirm, Dialog } from "@/ui/Dialog";
import { Answer, Loading } from "@/ui/ListLooks";
import { Panel } from "@/ui/Panel";
import { HostKeyCheck } from "./HostKeyCheck";
import { LastLook } from "./LastLook";
import { said } from "./WatchDialog";

const LOOKS_MS = 5000;

/** Nothing where no node is watched that way. */
export function RemoteHosts() {
  const { t } = useTranslation();
  const query = useInfiniteQuery({ ...remoteHostsQuery, refetchInterval: LOOKS_MS });
  const queries = useQueryClient();
  const [removing, setRemoving] = useState<RemoteHost | null>(null);
  const [fetching, setFetching] = useState<RemoteHost | null>(null);
  const [checking, setChecking] = useState<RemoteHost | null>(null);
  const changed = () => queries.invalidateQueries({ queryKey: keys.remoteHosts });
  if (query.data && rows(query.data).length === 0) return null;
  return (
    <Panel title={t("remote.title")} meta={<ApiCall small call={{ method: "GET", path: "/api/v1/remote-hosts", cli: "headrace node watched" }} />}>
      <Answer query={query} loading={t("remote.reading")}>
        {(data) => <HostTable hosts={rows(data)} onCheck={setChecking} onFetch={setFetching} onRemove={setRemoving} />}
      </Answer>
      {query.hasNextPage ? <button type="button" className="btn" style={{ marginTop: 12 }} onClick={() => void query.fetchNextPage()}>{t("ui.more")}</button> : null}
      {removing ? (
        <Confirm title={t("remote.removeTitle", { address: removing.address })} action={t("remote.removeDo")} harm call={`DELETE /api/v1/remote-hosts/${removing.id}`} onConfirm={() => removeRemoteHost(removing.id).then(changed)} onClose={() => setRemoving(null)}>
          {t("remote.removeWhat")}
        </Confirm>
      ) : null}
      {fetching ? <FetchImages host={fetching} onDone={() => changed()} onClose={() => setFetching(null)} /> : null}
      {checking ? <NewHostKey host={checking} onDone={() => void changed()} onClose={() => setChecking(null)} /> : null}
    </Panel>
  );
}

interface TableProps { hosts: readonly RemoteHost[]; onCheck: (host: RemoteHost) => void; onFetch: (host: RemoteHost) => void; onRemove: (host: RemoteHost) => void }

function HostTable({ hosts, onCheck, onFetch, onRemove }: TableProps) {
  const { t } = useTranslation();
  const now = useNow();
  return (
    <div className="scroll">
      <table style={{ minWidth: 760 }}>
        <thead><tr><th>{t("remote.way")}</th><th>{t("remote.node")}</th><th>{t("remote.look")}</th><th>{t("remote.images")}</th><th>{t("remote.fingerprint")}</th><th /></tr></thead>
        <tbody>
          {hosts.map((host) => (
            <tr key={host.id}>
              <td className="mono nw">{host.user}@{host.address}:{host.port}</td>
              <td className="nw">{host.node ? <Link to="/nodes/$id" params={{ id: host.node }}>{t("remote.open", { id: String(host.node) })}</Link> : <span className="dim">{t("remote.notSeen")}</span>}</td>
              <td><LastLook host={host} now={now} /></td>
              <td className="nw"><button type="button" className="btn sml" onClick={() => onFetch(host)}>{t(host.fetches_images ? "remote.fetched" : "remote.notFetched")}</button></td>
              <td className="mono xs" title={host.key}>{host.fingerprint}</td>
              <td className="r nw">
                {host.problem === "host-key-changed" ? <><button type="button" className="btn sml" onClick={() => onCheck(host)}>{t("remote.confirm")}</button> </> : null}
                <button type="button" className="btn sml" onClick={() => onRemove(host)}>{t("remote.remove")}</button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function FetchImages({ host, onDone, onClose }: { host: RemoteHost; onDone: () => Promise<void>; onClose: () => void }) {
  const { t } = useTranslation();
  const way = host.fetches_images ? "Off" : "On";
  return (
    <Confirm title={t(`remote.fetch${way}Title`, { address: host.address })} action={t(`remote.fetch${way}Do`)} call={`PATCH /api/v1/remote-hosts/${host.id}`} onConfirm={() => letFetchImages(host.id, !host.fetches_images).then(onDone)} onClose={onClose}>
      {t(`remote.fetch${way}What`)}
    </Confirm>
  );
}

function NewHostKey({ host, onDone, onClose }: { host: RemoteHost; onDone: () => void; onClose: () => void }) {
  const { t } = useTranslation();
  const [shown, setShown] = useState<HostKey | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const failed = (error: unknown) => setProblem(asProblem(error));
  useEffect(() => {
    scanHostKey(host.address, host.port).then(setShown, (error: unknown) => setProblem(asProblem(error)));
  }, [host.address, host.port]);
  const believe = (hostKey: string) => void confirmHostKey(host.id, hostKey).then(() => { onDone(); onClose(); }, failed);
  return (
    <Dialog title={t("remote.confirmTitle", { address: host.address })} onClose={onClose}>
      {problem ? <div className="broken" role="alert">{said(problem)}</div> : null}
      {shown ? (
        <HostKeyCheck shown={shown}>
          <button type="button" className="btn" onClick={onClose}>{t("ui.leaveIt")}</button>
          <button type="button" className="btn harm" onClick={() => believe(shown.host_key)}>{t("remote.sameAgain")}</button>
        </HostKeyCheck>
      ) : problem ? null : <Loading what={t("remote.readHostKey")} />}
    </Dialog>
  );
}
