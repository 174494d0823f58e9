// Images: what is where, what fetching costs, and what is fetched ahead of demand.
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { type Image, imagesQuery } from "@/api/images";
import { rows } from "@/api/queries";
import { useMay } from "@/app/context";
import { ApiCall } from "@/ui/ApiCall";
import { Broken, Empty, Loading, Stale } from "@/ui/ListLooks";
import { PageHead } from "@/ui/Panel";
import { Seg } from "@/ui/Seg";
import { ImageTable } from "./ImageTable";
import { Pushes } from "./Pushes";
import { type ImageSearch, PERIODS, periodOf, withPeriod } from "./search";
import { Summary } from "./Summary";
import { WarmDialog } from "./WarmDialog";

export function ImagesPage() {
  const { t } = useTranslation();
  const search = useSearch({ from: "/inside/images" });
  const navigate = useNavigate({ from: "/images" });
  const change = (next: ImageSearch) => void navigate({ search: next, replace: true });
  const may = useMay("node-operate");
  const [warming, setWarming] = useState(false);
  const { days, search: text } = search;
  const query = useInfiniteQuery(imagesQuery({ ...(days ? { days } : {}), ...(text ? { search: text } : {}) }));
  const actions = (
    <>
      <ApiCall call={{ method: "GET", path: "/api/v1/images", cli: "headrace images list" }} />
      <button type="button" className="btn pri" disabled={!may} title={may ? undefined : t("nodes.operatorsOnly")} onClick={() => setWarming(true)}>{t("images.warm")}…</button>
    </>
  );
  return (
    <div className="page">
      <PageHead title={t("images.title")} sub={t("images.sub")} actions={actions} />
      <div className="row wrap" style={{ marginBottom: 12 }}>
        <SearchField value={text ?? ""} onChange={(value) => change(value ? { ...search, search: value } : without(search, "search"))} />
        <Period search={search} onChange={change} />
      </div>
      <div className="stack">
        <Summary days={days} />
        <section className="panel" aria-busy={query.isFetching}>
          {query.data === undefined ? (
            query.error ? <Broken error={query.error} onRetry={() => void query.refetch()} /> : <Loading what={t("images.reading")} />
          ) : (
            <Rows images={rows(query.data)} search={search} stale={query.error ? query.dataUpdatedAt : null} onClear={() => change(without(search, "search"))} />
          )}
          {query.hasNextPage ? (
            <button type="button" className="btn" style={{ marginTop: 12 }} disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>{t("ui.more")}</button>
          ) : null}
        </section>
        <Pushes stage={search.stage} onStage={(stage) => change(stage ? { ...search, stage } : without(search, "stage"))} />
      </div>
      {warming ? <WarmDialog onClose={() => setWarming(false)} /> : null}
    </div>
  );
}

function without(search: ImageSearch, name: keyof ImageSearch): ImageSearch {
  const { [name]: _old, ...rest } = search;
  return rest;
}

/** How far back the figures go. */
export function Period({ search, onChange }: { search: ImageSearch; onChange: (search: ImageSearch) => void }) {
  const { t } = useTranslation();
  const options = PERIODS.map((value) => ({ value, label: t(`images.period.${value}`) }));
  return <Seg value={periodOf(search)} options={options} label={t("images.periodLabel")} onChange={(period) => onChange(withPeriod(search, period))} />;
}

interface RowsProps { images: readonly Image[]; search: ImageSearch; stale: number | null; onClear: () => void }

function Rows({ images, search, stale, onClear }: RowsProps) {
  const { t } = useTranslation();
  if (images.length === 0 && search.search) return <Empty title={t("images.noneFound")}><button type="button" className="btn sml" onClick={onClear}>{t("jobs.clear")}</button></Empty>;
  if (images.length === 0) return <Empty title={t("images.none")}>{t("images.noneNext")}<pre className="code">headrace submit --image docker.io/library/python:3 -- python3 -V</pre></Empty>;
  const table = <ImageTable images={images} days={search.days} />;
  return stale == null ? table : <Stale at={stale}>{table}</Stale>;
}

const TYPING_MS = 250;

/** The address follows what is typed, a moment later. */
function SearchField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const { t } = useTranslation();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (field.current && document.activeElement !== field.current) field.current.value = value;
  }, [value]);
  const typed = (text: string) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onChange(text.trim()), TYPING_MS);
  };
  return <input ref={field} className="field" type="search" defaultValue={value} placeholder={t("images.search")} aria-label={t("images.search")} onChange={(event) => typed(event.target.value)} />;
}
