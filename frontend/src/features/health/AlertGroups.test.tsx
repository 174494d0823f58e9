import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import i18next from "i18next";
import { renderToStaticMarkup } from "react-dom/server";
import { I18nextProvider } from "react-i18next";
import { expect, it } from "vitest";
import { meQuery } from "@/api/session";
import type { Alert, AlertGroup, Me } from "@/api/types";
import en from "@/i18n/catalogue.en";
import zh from "@/i18n/catalogue.zh";
import { AlertGroups } from "./AlertGroups";

const NEWEST: Alert = {
  id: 48, code: "node-silent", severity: "critical", subject_type: "node", subject_id: "48", details: {}, raised_at: "2026-03-01T12:00:00Z",
  cleared_at: null, acknowledged_at: null, acknowledged_by: "", note: "", silenced: false,
};
const GROUP: AlertGroup = {
  code: "node-silent", severity: "critical", silenced: false, count: 48, acknowledged: 3, newest: NEWEST,
  first_raised_at: "2026-03-01T11:00:00Z", last_raised_at: "2026-03-01T12:00:00Z",
};

async function shown(group: Partial<AlertGroup>, permissions: string[] = ["alert-handle"], language = "en"): Promise<string> {
  const made = i18next.createInstance();
  await made.init({ lng: language, showSupportNotice: false, resources: { en: { translation: en }, "zh-CN": { translation: zh } }, interpolation: { escapeValue: false } });
  const client = new QueryClient();
  client.setQueryData(meQuery.queryKey, { permissions } as unknown as Me);
  return renderToStaticMarkup(
    <QueryClientProvider client={client}><I18nextProvider i18n={made}><AlertGroups groups={[{ ...GROUP, ...group }]} handled /></I18nextProvider></QueryClientProvider>,
  );
}

it("says of many equal alerts how many there are and how many are taken, in one row", async () => {
  const row = await shown({});
  expect(row.match(/<li/g)).toHaveLength(1);
  expect(row).toContain("Node silent · 48 alerts");
  expect(row).toContain("3 acknowledged");
  expect(await shown({}, [], "zh-CN")).toContain("· 48 条告警");
});

it("offers to acknowledge those that nobody has, and to silence what is not silent", async () => {
  expect(await shown({})).toContain(">Acknowledge 45<");
  const done = await shown({ acknowledged: 48, silenced: true });
  expect(done).not.toContain(">Acknowledge");
  expect(done).not.toContain("Silence");
});

it("lets nobody act who may not", async () => {
  const row = await shown({}, []);
  expect(row.match(/<button[^>]*disabled=""/g)).toHaveLength(2);
});
