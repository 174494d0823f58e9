// The frame of every page: rail, top line, the banner of a lost link, the page itself.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Outlet } from "@tanstack/react-router";
import { useCallback, useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { meQuery } from "@/api/session";
import { PausedCluster } from "@/features/pauses/PausedCluster";
import { age, clockTime } from "@/lib/format";
import { useNow } from "@/lib/useNow";
import { Patterns } from "@/ui/Patterns";
import { link, useLink } from "./context";
import { useKeyboard } from "./keyboard";
import { Rail } from "./Rail";
import { TopLine } from "./TopLine";
import "./shell.css";

export function Shell() {
  const { t } = useTranslation();
  const search = useRef<HTMLInputElement>(null);
  const { data: me } = useQuery(meQuery);
  useKeyboard(useCallback(() => search.current?.focus(), []));
  useEffect(() => {
    link.start();
    return () => link.stop();
  }, []);
  return (
    <div className="shell">
      <Patterns />
      <a className="skip" href="#main">{t("app.skip")}</a>
      <Rail />
      <TopLine searchRef={search} />
      <main id="main" tabIndex={-1}>
        {me?.cluster.paused ? <PausedCluster /> : null}
        <LostLink />
        <Outlet />
      </main>
    </div>
  );
}

const SHOW_AFTER_MS = 2_000;

function LostLink() {
  const state = useLink();
  return state === "lost" ? <LostBanner /> : null;
}

function LostBanner() {
  const { t, i18n } = useTranslation();
  const queries = useQueryClient();
  const now = useNow();
  const [since] = useState(() => Date.now());
  if (now - since < SHOW_AFTER_MS) return null;
  const read = Math.max(0, ...queries.getQueryCache().getAll().map((query) => query.state.dataUpdatedAt));
  const asOf = read > 0 ? { time: clockTime(new Date(read), i18n.language), age: age(new Date(read), now) } : null;
  return (
    <div className="banner" role="status">
      {t("app.lost")} {asOf ? t("app.lostAsOf", asOf) : null}
    </div>
  );
}
