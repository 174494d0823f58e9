// Numbers inside sentences are written as numbers in tables are.
import i18next from "i18next";
import { expect, it } from "vitest";
import { figures } from ".";

it("parts thousands in every sentence, and leaves words and ids alone", async () => {
  const words = { a: "{{count}} nodes, {{share}} of {{name}}" };
  const made = i18next.createInstance().use(figures);
  await made.init({ lng: "en", showSupportNotice: false, resources: { en: { translation: words } }, interpolation: { escapeValue: false, alwaysFormat: true } });
  expect(made.t("a", { count: 5881, share: 0.5, name: "#12345" })).toBe("5,881 nodes, 0.5 of #12345");
});
