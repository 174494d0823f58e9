// All nodes as a table, and how to enrol another.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { nodesQuery, overviewQuery, rows } from "@/api/queries";
import type { NodeState, NodeSummary } from "@/api/types";
import { useMay } from "@/app/context";
import { count } from "@/lib/format";
import { ApiCall } from "@/ui/ApiCall";
import { Broken, Empty, Loading, Stale } from "@/ui/ListLooks";
import { PageHead } from "@/ui/Panel";
import { StateChip } from "@/ui/StateGlyph";
import { RemoteHosts } from "@/features/remote/RemoteHosts";
import { WatchDialog } from "@/features/remote/WatchDialog";
import { EnrolDialog } from "./EnrolDialog";
import { NodeSets } from "./NodeSets";
import { NodeTable } from "./NodeTable";

const STATES: readonly NodeState[] = ["ready", "enrolled", "cordoned", "draining", "maintenance", "silent", "lost", "quarantined"];
const PAGE = 100;

export function NodesPage() {
  const { t } = useTranslation();
  const search = useSearch({ from: "/inside/nodes" });
  const filters = { limit: PAGE, ...pick(search.state, "state"), ...pick(search.node_set, "node_set"), ...pick(search.search, "search") };
  const query = useInfiniteQuery(nodesQuery(filters));
  const [enrolling, setEnrolling] = useState(false);
  const [watching, setWatching] = useState(false);
  const mayEnrol = useMay("node-enrol");
  const actions = (
    <>
      <ApiCall call={{ method: "GET", path: "/api/v1/nodes", cli: "headrace nodes" }} />
      {mayEnrol ? <button type="button" className="btn" onClick={() => setWatching(true)}>{t("remote.add")}</button> : null}
      {mayEnrol ? <button type="button" className="btn pri" onClick={() => setEnrolling(true)}>{t("inventory.enrol")}</button> : null}
    </>
  );
  return (
    <div className="page">
      <PageHead title={t("inventory.title")} sub={t("inventory.sub")} actions={actions} />
      <Filters />
      <NodeSets nodes={query.data ? rows(query.data) : []} chosen={search.node_set} />
      <section className="panel" aria-busy={query.isFetching}>
        {query.data === undefined ? (
          query.error ? <Broken error={query.error} onRetry={() => void query.refetch()} /> : <Loading what={t("inventory.reading")} />
        ) : (
          <Rows nodes={rows(query.data)} filtered={Object.keys(filters).length > 1} stale={query.error ? query.dataUpdatedAt : null} onEnrol={mayEnrol ? () => setEnrolling(true) : null} />
        )}
        {query.hasNextPage ? (
          <button type="button" className="btn" style={{ marginTop: 12 }} disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>{t("ui.more")}</button>
        ) : null}
      </section>
      {mayEnrol ? <RemoteHosts /> : null}
      {watching ? <WatchDialog onClose={() => setWatching(false)} /> : null}
      {enrolling ? <EnrolDialog onClose={() => setEnrolling(false)} /> : null}
    </div>
  );
}

function pick(value: string | undefined, name: string): Record<string, string> {
  return value ? { [name]: value } : {};
}

function Filters() {
  const { t } = useTranslation();
  const search = useSearch({ from: "/inside/nodes" });
  const navigate = useNavigate({ from: "/nodes" });
  const { data } = useQuery(overviewQuery);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (field.current && document.activeElement !== field.current) field.current.value = search.search ?? "";
  }, [search.search]);
  const set = (name: string, value: string | undefined) => void navigate({ search: (old) => ({ ...old, [name]: value || undefined }), replace: true });
  const typed = (text: string) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => set("search", text.trim()), 250);
  };
  const counts = data?.nodes;
  return (
    <div className="row wrap" style={{ marginBottom: 12 }}>
      <input ref={field} className="field" type="search" defaultValue={search.search ?? ""} placeholder={t("inventory.search")} aria-label={t("inventory.search")} onChange={(event) => typed(event.target.value)} />
      {STATES.filter((state) => (counts?.[state] ?? 0) > 0 || search.state === state).map((state) => (
        <StateChip key={state} state={state} number={counts?.[state] ?? 0} pressed={search.state === state} onPress={() => set("state", search.state === state ? undefined : state)} />
      ))}
    </div>
  );
}

interface RowsProps { nodes: NodeSummary[]; filtered: boolean; stale: number | null; onEnrol: (() => void) | null }

function Rows({ nodes, filtered, stale, onEnrol }: RowsProps) {
  const { t } = useTranslation();
  if (nodes.length === 0 && filtered) return <Empty title={t("inventory.noneFound")}><Link to="/nodes">{t("inventory.showAll")}</Link></Empty>;
  if (nodes.length === 0) {
    return (
      <Empty title={t("inventory.none")}>
        {t("inventory.noneNext")}
        <pre className="code">headrace-agent enrol --server {window.location.origin} --token …</pre>
        {onEnrol ? <button type="button" className="btn pri" style={{ marginTop: 8 }} onClick={onEnrol}>{t("inventory.makeToken")}</button> : <p style={{ marginTop: 8 }}>{t("inventory.askOperator")}</p>}
      </Empty>
    );
  }
  const table = <><NodeTable nodes={nodes} /><p className="xs dim" style={{ marginTop: 8 }}>{t("inventory.shown", { count: nodes.length, nodes: count(nodes.length) })}</p></>;
  return stale == null ? table : <Stale at={stale}>{table}</Stale>;
}
