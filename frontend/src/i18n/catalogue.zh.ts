// All Chinese words of the console.
import { merged, type Words } from "./merge";

export default merged(import.meta.glob<{ default: Words }>(["../features/*/i18n.zh.ts", "../app/i18n.zh.ts", "../ui/i18n.zh.ts"], { eager: true }));
