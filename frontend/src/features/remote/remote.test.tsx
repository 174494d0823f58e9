import i18next from "i18next";
import { I18nextProvider } from "react-i18next";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { Problem } from "@/api/problem";
import type { RemoteHost } from "@/api/types";
import en from "@/i18n/catalogue.en";
import zh from "@/i18n/catalogue.zh";
import { printsIt } from "./HostKeyCheck";
import { LastLook } from "./LastLook";
import { said } from "./WatchDialog";

const NOW = Date.parse("2026-03-01T12:00:00Z");
const HOST: RemoteHost = {
  id: 4, address: "10.0.0.4", port: 22, user: "watch", key: "fleet", fingerprint: "SHA256:x", node: 9, fetches_images: false,
  tried_at: "2026-03-01T11:59:56Z", answered_at: "2026-03-01T11:59:56Z", failures: 0, problem: "", problem_text: "", problem_detail: "",
};

async function shown(host: Partial<RemoteHost>, language = "en"): Promise<string> {
  const made = i18next.createInstance();
  await made.init({ lng: language, showSupportNotice: false, resources: { en: { translation: en }, "zh-CN": { translation: zh } }, interpolation: { escapeValue: false } });
  return renderToStaticMarkup(<I18nextProvider i18n={made}><LastLook host={{ ...HOST, ...host }} now={NOW} /></I18nextProvider>);
}

it("says how the last look went", async () => {
  expect(await shown({})).toMatch(/^fine, 4\s?s ago$/);
  expect(await shown({ answered_at: null, tried_at: null })).toContain("not looked at yet");
});

it("says the last error with its detail, how often, and when the last report came", async () => {
  const broken = { problem: "key-refused", problem_text: "The node refused the key.", problem_detail: "watch", failures: 3 } as const;
  const text = await shown({ ...broken, answered_at: "2026-03-01T11:00:00Z" });
  expect(text).toContain("The node refused the key. — watch");
  expect(text).toMatch(/3 looks failed in a row · last report 1\s?h/);
  expect(await shown({ ...broken, answered_at: null })).not.toContain("last report");
  expect(await shown(broken, "zh-CN")).toContain("连续 3 次查看失败");
});

it("names the file on the machine that holds the key which was shown", () => {
  const of = (kind: string) => printsIt({ host_key: `${kind} AAAA`, fingerprint: "" });
  expect(of("ssh-ed25519")).toContain("ssh_host_ed25519_key.pub");
  expect(of("ssh-rsa")).toContain("ssh_host_rsa_key.pub");
  expect(of("ecdsa-sha2-nistp256")).toContain("ssh_host_ecdsa_key.pub");
});

it("adds to a problem what was said of the connection", () => {
  const facts = { status: 409, code: "ssh-unreachable", detail: "It does not answer." };
  expect(said(new Problem({ ...facts, params: { detail: "Connection refused" } }))).toBe("It does not answer. — Connection refused");
  expect(said(new Problem({ ...facts, params: { detail: "" } }))).toBe("It does not answer.");
});
