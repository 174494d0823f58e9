// Languages of the console: the catalogue of a language is merged from every feature's file and read when first needed.
import i18next from "i18next";
import { initReactI18next } from "react-i18next";
import { count } from "@/lib/format";

export const LANGUAGES = ["en", "zh-CN"] as const;
export type Language = (typeof LANGUAGES)[number];
const STORED = "headrace.language";

export function preferredLanguage(): Language {
  const wanted = [localStorage.getItem(STORED), ...navigator.languages];
  for (const tag of wanted) {
    if (tag?.startsWith("zh")) return "zh-CN";
    if (tag?.startsWith("en")) return "en";
  }
  return "en";
}

/** Every whole number inside a sentence is written as tables write it; both languages part thousands by a comma. */
export const figures = {
  type: "formatter" as const,
  init: () => undefined,
  add: () => undefined,
  addCached: () => undefined,
  format: (value: unknown): string => (typeof value === "number" && Number.isInteger(value) ? count(value) : String(value)),
};

async function catalogue(language: Language): Promise<object> {
  return (language === "en" ? await import("./catalogue.en") : await import("./catalogue.zh")).default;
}

async function load(language: Language): Promise<void> {
  if (!i18next.hasResourceBundle(language, "translation")) {
    i18next.addResourceBundle(language, "translation", await catalogue(language));
  }
}

export async function startLanguages(): Promise<void> {
  const language = preferredLanguage();
  await i18next.use(figures).use(initReactI18next).init({
    lng: language,
    fallbackLng: false,
    supportedLngs: [...LANGUAGES],
    resources: {},
    showSupportNotice: false,
    interpolation: { escapeValue: false, alwaysFormat: true },
    react: { useSuspense: false },
  });
  await changeLanguage(language);
}

export async function changeLanguage(language: Language): Promise<void> {
  await load(language);
  await i18next.changeLanguage(language);
  document.documentElement.lang = language;
  localStorage.setItem(STORED, language);
}
