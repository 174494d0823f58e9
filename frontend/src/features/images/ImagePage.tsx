// One image: the nodes that have it or are to fetch it, and the starts that waited for it.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { type Image, imageQuery, imageWaitsQuery } from "@/api/images";
import { rows } from "@/api/queries";
import { useMay } from "@/app/context";
import { count, dateTime, duration, memory, percent } from "@/lib/format";
import { ApiCall } from "@/ui/ApiCall";
import { Answer, Broken, Loading } from "@/ui/ListLooks";
import { PageHead, Panel } from "@/ui/Panel";
import { Known, None } from "@/ui/Words";
import { ImageNodes } from "./ImageNodes";
import { Period } from "./ImagesPage";
import { hitRate } from "./search";
import { WarmDialog } from "./WarmDialog";

export function ImagePage() {
  const { t } = useTranslation();
  const { id } = useParams({ from: "/inside/images/$id" });
  const { days } = useSearch({ from: "/inside/images/$id" });
  const query = useQuery(imageQuery(id, days ? { days } : {}));
  return <div className="page"><Answer query={query} loading={t("images.reading")}>{(image) => <Shown image={image} days={days} />}</Answer></div>;
}

function Shown({ image, days }: { image: Image; days?: number }) {
  const { t } = useTranslation();
  const navigate = useNavigate({ from: "/images/$id" });
  const may = useMay("node-operate");
  const [warming, setWarming] = useState(false);
  const actions = (
    <>
      <ApiCall call={{ method: "GET", path: `/api/v1/images/${image.id}/nodes`, cli: `headrace images show ${image.name}` }} />
      <button type="button" className="btn pri" disabled={!may} title={may ? undefined : t("nodes.operatorsOnly")} onClick={() => setWarming(true)}>{t("images.warm")}…</button>
    </>
  );
  return (
    <>
      <PageHead title={<span style={{ overflowWrap: "anywhere" }}>{image.name}</span>} trail={<Link to="/images">{t("images.all")}</Link>} actions={actions} />
      <div className="row wrap" style={{ marginBottom: 12 }}>
        <Period search={days ? { days } : {}} onChange={(search) => void navigate({ search, replace: true })} />
        <Facts image={image} />
      </div>
      <div className="stack">
        <ImageNodes image={image} days={days} />
        <Waits id={image.id} />
      </div>
      {warming ? <WarmDialog image={image.name} onClose={() => setWarming(false)} /> : null}
    </>
  );
}

function Facts({ image }: { image: Image }) {
  const { t } = useTranslation();
  const rate = hitRate(image);
  return (
    <span className="mut">
      <Known value={image.size_mib} format={memory} /> · {t("images.onNodes", { count: image.nodes, nodes: count(image.nodes) })} · {t("images.hitRate")}{" "}
      {rate == null ? <None /> : percent(rate)} ({t("images.hitsOf", { hits: count(image.hits), starts: count(image.starts) })})
    </span>
  );
}

function Waits({ id }: { id: number }) {
  const { t, i18n } = useTranslation();
  const query = useInfiniteQuery(imageWaitsQuery(id));
  const found = query.data ? rows(query.data) : null;
  return (
    <Panel title={t("images.waits")}>
      {found === null ? (
        query.error ? <Broken error={query.error} onRetry={() => void query.refetch()} /> : <Loading what={t("images.reading")} />
      ) : found.length === 0 ? (
        <p className="mut">{t("images.noWaits")}</p>
      ) : (
        <table>
          <thead><tr><th>{t("images.when")}</th><th>{t("images.node")}</th><th className="r">{t("images.fetch")}</th></tr></thead>
          <tbody>
            {found.map((wait, index) => (
              <tr key={index}><td className="nw">{dateTime(wait.at, i18n.language, true)}</td><td><Link to="/nodes/$id" params={{ id: wait.node }}>{wait.node_name}</Link></td><td className="r nw">{duration(wait.pull_ms)}</td></tr>
            ))}
          </tbody>
        </table>
      )}
      {query.hasNextPage ? (
        <button type="button" className="btn" style={{ marginTop: 12 }} disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>{t("ui.more")}</button>
      ) : null}
    </Panel>
  );
}
