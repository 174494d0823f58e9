import { expect, it } from "vitest";
import { alertText, kindName, metricValue } from "./subject";

const t = ((key: string, values?: Record<string, unknown>) => (values ? `${key} ${JSON.stringify(values)}` : key)) as never;

it("gives values of rules the unit of their metric, and none where they are unknown", () => {
  expect(metricValue("device-temperature-c", 91, t)).toMatch(/^91\s°C$/);
  expect(metricValue("node-memory-percent", 95, t)).toMatch(/^95\s%$/);
  expect(metricValue("node-memory-percent", null, t)).toBe("ui.unknown");
});

it("says of a rule's alert what was measured and where the limit lies", () => {
  const details = { rule: "hot", metric: "device-temperature-c", value: 91, limit: 85 };
  const text = alertText({ code: "rule:hot", details }, t);
  expect(text).toContain("health.rule");
  expect(text).toMatch(/"value":"91\s°C","limit":"85\s°C"/);
});

it("names kinds of alerts: by the rule, or in words, or as they are", () => {
  expect(kindName("rule:hot", t)).toBe('health.ruleKind {"rule":"hot"}');
  expect(kindName("node-silent", t)).toContain("health.kind.node-silent");
});

it("shows the code of an alert that it does not know", () => {
  expect(alertText({ code: "new-thing", details: {} }, t)).toContain('"defaultValue":"new-thing"');
});
