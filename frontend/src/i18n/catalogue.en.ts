// All English words of the console.
import { merged, type Words } from "./merge";

export default merged(import.meta.glob<{ default: Words }>(["../features/*/i18n.en.ts", "../app/i18n.en.ts", "../ui/i18n.en.ts"], { eager: true }));
