// The four other looks of a list: loading, empty, error and stale.
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { asProblem } from "@/api/problem";
import { age, clockTime } from "@/lib/format";
import { useNow } from "@/lib/useNow";

const STILL_BARS = [90, 70, 82, 60];

export function Loading({ what }: { what: string }) {
  return (
    <div className="still" role="status">
      {STILL_BARS.map((width) => <div key={width} style={{ width: `${width}%` }} />)}
      <span className="xs dim">{what}</span>
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <b>{title}</b> <span className="mut">{children}</span>
    </div>
  );
}

export function Broken({ error, what, onRetry }: { error: unknown; what?: string; onRetry?: () => void }) {
  const { t } = useTranslation();
  const problem = asProblem(error);
  const status = problem.status > 0 ? `${problem.status} · ` : "";
  return (
    <div className="broken" role="alert">
      <b className="crit">{what ?? t("ui.listBroken")}</b>
      <div className="mut sm">{status}{problem.code === "unreachable" ? t("ui.unreachable") : problem.message}</div>
      {onRetry ? (
        <button type="button" className="btn sml" style={{ marginTop: 8 }} onClick={onRetry}>
          {t("ui.tryAgain")}
        </button>
      ) : null}
    </div>
  );
}

/** Old rows stay, dimmed, with their age. */
export function Stale({ at, children }: { at: number; children: ReactNode }) {
  const { t, i18n } = useTranslation();
  const now = useNow();
  return (
    <div className="stale">
      <span className="sig sm b">{t("ui.staleAsOf", { time: clockTime(new Date(at), i18n.language), age: age(new Date(at), now) })}</span>
      <div className="dimmed">{children}</div>
    </div>
  );
}

type Read<T> = Pick<UseQueryResult<T>, "data" | "error" | "isPending" | "dataUpdatedAt" | "refetch">;

/** Shows what was read, or the look that says why it is not there. */
export function Answer<T>({ query, loading, children }: { query: Read<T>; loading: string; children: (data: T) => ReactNode }) {
  if (query.data !== undefined) {
    const shown = children(query.data);
    return query.error ? <Stale at={query.dataUpdatedAt}>{shown}</Stale> : <>{shown}</>;
  }
  if (query.error) return <Broken error={query.error} onRetry={() => void query.refetch()} />;
  return <Loading what={loading} />;
}
