import { expect, it } from "vitest";
import type { Alert } from "@/api/types";
import { groupsOf } from "./groups";

const alert = (id: number, code: string, more: Partial<Alert> = {}): Alert => ({
  id, code, severity: "warning", subject_type: "node", subject_id: String(id), details: {}, raised_at: new Date(id * 60_000).toISOString(),
  cleared_at: null, acknowledged_at: null, acknowledged_by: "", note: "", silenced: false, ...more,
});

it("makes one row of what is said of many, with the oldest and the newest", () => {
  const many = Array.from({ length: 48 }, (_, i) => alert(48 - i, "node-silent", i === 3 ? { acknowledged_at: new Date(0).toISOString() } : {}));
  const [silent, other] = groupsOf([...many, alert(1, "clock-offset")]);
  expect([silent?.count, silent?.acknowledged, silent?.newest.id, other?.count]).toEqual([48, 1, 48, 1]);
  expect([silent?.first_raised_at, silent?.last_raised_at]).toEqual([alert(1, "").raised_at, alert(48, "").raised_at]);
});

it("keeps apart what is more urgent, and what is silenced", () => {
  expect(groupsOf([alert(3, "a"), alert(2, "a", { severity: "critical" }), alert(1, "a", { silenced: true })])).toHaveLength(3);
});
