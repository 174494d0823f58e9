// Choosing another language: the page's words and the account first, then all that was read is read anew in it.
import type { QueryClient } from "@tanstack/react-query";
import { setLanguage } from "@/api/actions";
import { changeLanguage, type Language } from "@/i18n";

/** What is asked before the page speaks the new language would be answered in the old one. */
export async function chooseLanguage(language: Language, queries: QueryClient): Promise<void> {
  await Promise.all([changeLanguage(language), setLanguage(language).catch(() => undefined)]);
  await queries.invalidateQueries();
}
