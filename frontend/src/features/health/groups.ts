// Alerts that say the same of many subjects, put together as the server does it for open ones.
import type { Alert, AlertGroup } from "@/api/types";

export interface LocalGroup extends AlertGroup {
  alerts: readonly Alert[];
}

/** In the order of the list, which has the newest first. */
export function groupsOf(alerts: readonly Alert[]): LocalGroup[] {
  const found = new Map<string, Alert[]>();
  for (const alert of alerts) {
    const kind = JSON.stringify([alert.code, alert.severity, alert.silenced]);
    found.set(kind, [...(found.get(kind) ?? []), alert]);
  }
  return [...found.values()].map((members) => {
    const newest = members[0] as Alert;
    const raised = members.map((one) => one.raised_at).sort((a, b) => Date.parse(a) - Date.parse(b));
    return {
      code: newest.code, severity: newest.severity, silenced: newest.silenced, count: members.length,
      acknowledged: members.filter((one) => one.acknowledged_at !== null).length,
      first_raised_at: raised[0] as string, last_raised_at: raised.at(-1) as string, newest, alerts: members,
    };
  });
}
