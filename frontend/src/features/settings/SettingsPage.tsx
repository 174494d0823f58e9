// What a person sets for themselves: language and theme, and the keys there are.
import { useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { chooseLanguage } from "@/app/language";
import { LANGUAGES, type Language } from "@/i18n";
import { setTheme, useThemeChoice } from "@/lib/theme";
import { ApiCall } from "@/ui/ApiCall";
import { Columns, PageHead, Panel } from "@/ui/Panel";
import { Seg } from "@/ui/Seg";

const NAMES: Record<Language, string> = { en: "English", "zh-CN": "中文" };
const KEYS: readonly [string, string][] = [
  ["/", "search"], ["g o", "overview"], ["g m", "map"], ["g j", "jobs"], ["g q", "queues"], ["g n", "nodes"], ["g p", "policy"], ["g h", "health"], ["g s", "status"],
];

export function SettingsPage() {
  const { t, i18n } = useTranslation();
  const theme = useThemeChoice();
  const queries = useQueryClient();
  const choose = (language: Language) => { void chooseLanguage(language, queries); };
  const themes = (["system", "light", "dark"] as const).map((value) => ({ value, label: t(`settings.theme.${value}`) }));
  return (
    <div className="page">
      <PageHead title={t("settings.title")} actions={<ApiCall call={{ method: "GET", path: "/api/v1/me" }} />} />
      <Columns parts={[1, 1]}>
        <Panel title={t("settings.language")} meta={t("settings.languageNote")}>
          <Seg value={i18n.language as Language} options={LANGUAGES.map((value) => ({ value, label: NAMES[value] }))} label={t("settings.language")} onChange={choose} />
        </Panel>
        <Panel title={t("settings.look")} meta={t("settings.lookNote")}>
          <Seg value={theme} options={themes} label={t("settings.look")} onChange={setTheme} />
        </Panel>
        <Panel title={t("settings.keys")}>
          <table><tbody>{KEYS.map(([keys, what]) => <tr key={keys}><td style={{ width: 80 }}><kbd>{keys}</kbd></td><td>{what === "search" ? t("settings.search") : t(`app.nav.${what}`)}</td></tr>)}</tbody></table>
        </Panel>
        <Panel title={t("settings.zone")}>
          <p className="mut">{t("settings.zoneNote", { zone: Intl.DateTimeFormat().resolvedOptions().timeZone })}</p>
        </Panel>
      </Columns>
    </div>
  );
}
