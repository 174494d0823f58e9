// The search box of a log, what it found, and the lines around the match that was chosen.
import { useQuery } from "@tanstack/react-query";
import { useLayoutEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { allMatches, readExcerpt, useLogSearch, type LogPlace, type Wanted } from "@/api/logSearch";
import { keys } from "@/api/keys";
import type { LogMatch } from "@/api/types";
import { count } from "@/lib/format";
import { Answer, Broken } from "@/ui/ListLooks";

const MOST_TEXT = 200;

/** A form: looking through a log is work, so it begins with Enter and not with each letter. */
export function LogSearchBox({ onSearch }: { onSearch: (wanted: Wanted) => void }) {
  const { t } = useTranslation();
  const [text, setText] = useState("");
  const [anyCase, setAnyCase] = useState(true);
  const typed = (value: string) => {
    setText(value);
    if (value === "") onSearch({ text: "", anyCase });
  };
  return (
    <form role="search" className="row logsearch" onSubmit={(event) => { event.preventDefault(); onSearch({ text, anyCase }); }}>
      <input className="field" type="search" value={text} maxLength={MOST_TEXT} placeholder={t("job.logSearch.placeholder")} aria-label={t("job.logSearch.placeholder")} onChange={(event) => typed(event.target.value)} />
      <label className="row" style={{ gap: 5 }}>
        <input type="checkbox" checked={!anyCase} onChange={(event) => setAnyCase(!event.target.checked)} /> {t("job.logSearch.matchCase")}
      </label>
      <button type="submit" className="btn" disabled={text === ""}>{t("job.logSearch.go")}</button>
    </form>
  );
}

export function LogFindings({ place, wanted }: { place: LogPlace; wanted: Wanted }) {
  const { t } = useTranslation();
  const query = useLogSearch(place, wanted);
  const [chosen, setChosen] = useState<LogMatch | null>(null);
  const matches = allMatches(query.data?.pages ?? []);
  const command = `headrace logs ${place.id}${place.replica > 0 ? ` --replica ${place.replica}` : ""} --attempt ${place.attempt}`;
  if (chosen) return <Around place={place} match={chosen} command={command} onBack={() => setChosen(null)} />;
  if (query.error && matches.length === 0) return <Broken error={query.error} what={t("job.logSearch.broken")} />;
  const looking = query.isFetching;
  return (
    <div>
      <p className="sm mut" role="status">
        {looking ? t("job.logSearch.looking") : t(query.hasNextPage ? "job.logSearch.foundSoFar" : matches.length > 0 ? "job.logSearch.found" : "job.logSearch.nothing", { count: matches.length, number: count(matches.length) })}
      </p>
      <ol className="findings">
        {matches.map((match) => <Finding key={match.offset} match={match} onChoose={() => setChosen(match)} />)}
      </ol>
      {query.hasNextPage && !looking ? <button type="button" className="btn" onClick={() => void query.fetchNextPage()}>{t("job.logSearch.further")}</button> : null}
    </div>
  );
}

function Finding({ match, onChoose }: { match: LogMatch; onChoose: () => void }) {
  const { t } = useTranslation();
  return (
    <li>
      <button type="button" onClick={onChoose} aria-label={t("job.logSearch.show", { line: match.line ?? "?" })}>
        <span className="num mut">{match.line ?? "?"}</span>
        <code>
          {match.lines_before.map((line, index) => <span key={`b${index}`} className="mut">{line}{"\n"}</span>)}
          {match.before}<mark>{match.match}</mark>{match.after}
          {match.lines_after.map((line, index) => <span key={`a${index}`} className="mut">{"\n"}{line}</span>)}
        </code>
      </button>
    </li>
  );
}

interface AroundProps { place: LogPlace; match: LogMatch; command: string; onBack: () => void }

function Around({ place, match, command, onBack }: AroundProps) {
  const { t } = useTranslation();
  const query = useQuery({
    queryKey: keys.logSearch({ ...place, offset: match.offset }),
    queryFn: ({ signal }) => readExcerpt(place, match.offset, signal),
    staleTime: Infinity,
  });
  const marked = useRef<HTMLElement>(null);
  // No value may be handed back: newer browsers answer with a promise.
  useLayoutEffect(() => { marked.current?.scrollIntoView({ block: "center" }); }, [query.data]);
  return (
    <div>
      <p className="sm row" style={{ gap: 12 }}>
        <button type="button" className="btn" onClick={onBack}>{t("job.logSearch.back")}</button>
        <span className="mut">{t("job.logSearch.around", { line: match.line ?? "?" })}</span>
      </p>
      <Answer query={query} loading={t("job.logSearch.reading")}>
        {(excerpt) => (
          <pre className="code log" tabIndex={0} aria-label={t("job.logSearch.around", { line: match.line ?? "?" })}>
            {excerpt.before}<mark ref={marked}>{excerpt.line}</mark>{"\n"}{excerpt.after}
          </pre>
        )}
      </Answer>
      <p className="sm mut">{t("job.logSearch.whole", { command })}</p>
    </div>
  );
}
