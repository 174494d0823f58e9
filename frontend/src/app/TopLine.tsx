// The top line: cluster, search, live state and last cycle, what needs a person, time, language, theme, user.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type RefObject, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { overviewQuery } from "@/api/queries";
import { meQuery } from "@/api/session";
import type { Language } from "@/i18n";
import { age, count, topLineTime, withUnit, zone } from "@/lib/format";
import { setTheme, useTheme } from "@/lib/theme";
import { useNow } from "@/lib/useNow";
import { StateGlyph } from "@/ui/StateGlyph";
import { useLink } from "./context";
import { chooseLanguage } from "./language";
import { Search } from "./Search";
import { useSignOut } from "./signOut";

export function TopLine({ searchRef }: { searchRef: RefObject<HTMLInputElement | null> }) {
  const { t, i18n } = useTranslation();
  const { data: me } = useQuery(meQuery);
  const { data: overview } = useQuery(overviewQuery);
  const now = useNow();
  return (
    <header className="top">
      <span className="where">
        {me?.cluster.name}{" "}
        {overview ? <span className="dim" style={{ fontWeight: 400 }}>{t("app.nodes", { count: overview.nodes.total, nodes: count(overview.nodes.total) })}</span> : null}
      </span>
      <Search inputRef={searchRef} />
      <span className="right">
        <LiveState now={now} />
        {overview && overview.alerts.open > 0 ? (
          <Link to="/health" className="hide-s">
            <StateGlyph state="suspect" /> <b>{overview.alerts.open}</b> {t("app.needPerson", { count: overview.alerts.open })}
          </Link>
        ) : null}
        <span className="hide-s dim">
          {topLineTime(new Date(now), i18n.language)}{" "}
          <span title={Intl.DateTimeFormat().resolvedOptions().timeZone}>{zone(new Date(now))}</span>
        </span>
        <LanguageButton />
        <ThemeButton />
        <UserMenu name={me?.username ?? ""} />
      </span>
    </header>
  );
}

function LiveState({ now }: { now: number }) {
  const { t } = useTranslation();
  const state = useLink();
  const { data: overview } = useQuery(overviewQuery);
  const cycle = overview?.cycle;
  return (
    <span className={`live ${state === "lost" ? "lost" : ""}`} role="status">
      <i />
      {t(`app.link.${state}`)}
      {cycle ? (
        <Link to="/status" className="dim hide-s">{t("app.cycle", { age: age(cycle.at, now), took: withUnit(cycle.wall_ms, "ms") })}</Link>
      ) : null}
    </span>
  );
}

function LanguageButton() {
  const { t, i18n } = useTranslation();
  const queries = useQueryClient();
  const other: Language = i18n.language === "en" ? "zh-CN" : "en";
  const change = () => { void chooseLanguage(other, queries); };
  return (
    <button type="button" className="icb" onClick={change} lang={other} aria-label={other === "en" ? "Switch to English" : "切换到中文"}>
      {t("app.otherLanguage")}
    </button>
  );
}

function ThemeButton() {
  const { t } = useTranslation();
  const theme = useTheme();
  return (
    <button type="button" className="icb" aria-label={t("app.theme")} onClick={() => setTheme(theme === "dark" ? "light" : "dark")}>
      <svg width="15" height="15" viewBox="0 0 16 16" aria-hidden="true">
        <circle cx="8" cy="8" r="6.2" fill="none" stroke="currentColor" strokeWidth="1.5" />
        <path d="M8 1.8a6.200 6.200 0 0 1 0 12.400z" fill="currentColor" />
      </svg>
    </button>
  );
}

function UserMenu({ name }: { name: string }) {
  const { t } = useTranslation();
  const signOut = useSignOut();
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLSpanElement>(null);
  const close = () => setOpen(false);
  return (
    <span ref={box} style={{ position: "relative" }} onKeyDown={(event) => event.key === "Escape" && close()}
      onBlur={(event) => { if (!box.current?.contains(event.relatedTarget as Node | null)) close(); }}>
      <button type="button" className="icb user" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span className="wide-only">{name}</span>
        <span className="phone-only" aria-label={name}>☰</span>
      </button>
      {open ? (
        <ul className="found menu">
          <li><Link to="/tokens" onClick={close}>{t("app.tokens")}</Link></li>
          <li><Link to="/settings" onClick={close}>{t("app.settings")}</Link></li>
          <li className="phone-only"><Link to="/policy" onClick={close}>{t("app.nav.policy")}</Link></li>
          <li className="phone-only"><Link to="/what-if" onClick={close}>{t("app.nav.whatif")}</Link></li>
          <li className="phone-only"><Link to="/health" onClick={close}>{t("app.nav.health")}</Link></li>
          <li className="phone-only"><Link to="/status" onClick={close}>{t("app.nav.status")}</Link></li>
          <li><button type="button" onClick={() => void signOut()}>{t("app.signOut")}</button></li>
        </ul>
      ) : null}
    </span>
  );
}
