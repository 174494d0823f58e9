// What a node does about an image is said in words, in both languages; only what Headrace fetched can be given up.
import i18next from "i18next";
import { renderToStaticMarkup } from "react-dom/server";
import { I18nextProvider } from "react-i18next";
import { expect, it } from "vitest";
import type { ImagePlace, ImagePush } from "@/api/images";
import en from "@/i18n/catalogue.en";
import zh from "@/i18n/catalogue.zh";
import { isPrunable } from "./ImageNodes";
import { Refused } from "./Refused";
import { Ended, Stage, Why } from "./Stage";

const PUSH: ImagePush = {
  id: 1, node: 2, node_name: "n2", image: "a", stage: "done", why: "person", wanted_at: "2026-03-01T12:00:00Z", asked_at: null,
  ended_at: "2026-03-01T12:00:00Z", ms: 61_000, failures: 0, problem: "",
};
const place = (push: Partial<ImagePush> | null): ImagePlace => ({ node: 2, node_name: "n2", here: true, starts: 0, hits: 0, push: push && { ...PUSH, ...push } });

async function shown(node: React.ReactNode, language = "en"): Promise<string> {
  const made = i18next.createInstance();
  await made.init({ lng: language, showSupportNotice: false, resources: { en: { translation: en }, "zh-CN": { translation: zh } }, interpolation: { escapeValue: false } });
  return renderToStaticMarkup(<I18nextProvider i18n={made}>{node}</I18nextProvider>);
}

it("says how far it is and why", async () => {
  expect(await shown(<Stage push={{ ...PUSH, stage: "failed", problem: "no room" }} />)).toContain("no room");
  expect(await shown(<Why push={PUSH} />)).toBe("ordered by hand");
  expect(await shown(<Why push={{ ...PUSH, why: "waiting" }} />, "zh-CN")).toBe("有作业等待它");
});

it("says how long the last fetching took, and nothing of one that never ended", async () => {
  expect(await shown(<Ended push={PUSH} />)).toMatch(/ago · took 1\s?min\s1\s?s/);
  expect(await shown(<Ended push={{ ...PUSH, ms: null }} />)).not.toContain("took");
  expect(await shown(<Ended push={{ ...PUSH, ended_at: null }} />)).toContain("none");
});

it("lets only what Headrace fetched be given up", () => {
  expect([place(null), place({}), place({ stage: "running" }), place({ stage: "pruned" })].map(isPrunable)).toEqual([false, true, false, false]);
});

it("names the nodes on which nothing was done", async () => {
  const outcomes = [{ node: 3, node_name: null, changed: false, code: "no-such-node", text: "There is no such node." }];
  const text = await shown(<Refused outcomes={outcomes} total={2} />);
  expect(text).toContain("1 of 2 nodes");
  expect(text).toContain("#3: There is no such node.");
});
