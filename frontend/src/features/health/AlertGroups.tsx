// Equal alerts as one line: how many, since when, who they are about, and acting on all of them.
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { acknowledgeGroup } from "@/api/actions";
import { keys } from "@/api/keys";
import { asProblem } from "@/api/problem";
import { groupAlertsQuery, rows } from "@/api/queries";
import { meQuery } from "@/api/session";
import type { AlertGroup } from "@/api/types";
import { age, dateTime } from "@/lib/format";
import { useNow } from "@/lib/useNow";
import { Answer } from "@/ui/ListLooks";
import { StateGlyph } from "@/ui/StateGlyph";
import { AlertLine, AlertList } from "./AlertList";
import type { LocalGroup } from "./groups";
import { SilenceDialog } from "./Silences";
import { alertGlyph, kindName } from "./subject";

type Group = AlertGroup | LocalGroup;

export function AlertGroups({ groups, handled = false }: { groups: readonly Group[]; handled?: boolean }) {
  return (
    <ul className="alerts">
      {groups.map((group) => group.count === 1
        ? <AlertLine key={group.newest.id} alert={group.newest} handled={handled} />
        : <GroupLine key={`${group.code} ${group.severity} ${String(group.silenced)}`} group={group} handled={handled} />)}
    </ul>
  );
}

function GroupLine({ group, handled }: { group: Group; handled: boolean }) {
  const { t, i18n } = useTranslation();
  const now = useNow();
  const [open, setOpen] = useState(false);
  const at = { first: dateTime(group.first_raised_at, i18n.language), last: dateTime(group.last_raised_at, i18n.language) };
  const taken = group.acknowledged > 0 ? ` · ${t("health.groupTaken", { count: group.acknowledged })}` : "";
  const toggle = <button type="button" className="btn sml" aria-expanded={open} onClick={() => { setOpen(!open); }}>{t(open ? "health.hideThem" : "health.showThem")}</button>;
  return (
    <li>
      <span className="g"><StateGlyph state={alertGlyph(group)} /></span>
      <div>
        <div className="med">{t("health.group", { kind: kindName(group.code, t), count: group.count })}</div>
        <div className="sm mut">{t("health.groupSpan", at)}{taken}</div>
        {handled ? <GroupHandling group={group}>{toggle}</GroupHandling> : <div className="handling sm">{toggle}</div>}
        {open ? <Members group={group} handled={handled} /> : null}
      </div>
      <span className="sm dim nw" title={at.last}>{age(group.last_raised_at, now)}</span>
    </li>
  );
}

function Members({ group, handled }: { group: Group; handled: boolean }) {
  return "alerts" in group ? <AlertList alerts={group.alerts} /> : <OpenMembers group={group} handled={handled} />;
}

function OpenMembers({ group, handled }: { group: AlertGroup; handled: boolean }) {
  const { t } = useTranslation();
  const query = useInfiniteQuery(groupAlertsQuery(group));
  return (
    <Answer query={query} loading={t("health.reading")}>
      {(data) => (
        <>
          <AlertList alerts={rows(data)} handled={handled} />
          {query.hasNextPage ? <button type="button" className="btn sml" disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>{t("ui.more")}</button> : null}
        </>
      )}
    </Answer>
  );
}

/** Acknowledges those of a group that are shown and that nobody has; silences all of its kind. */
function GroupHandling({ group, children }: { group: AlertGroup; children: ReactNode }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const me = useQuery(meQuery);
  const [asked, setAsked] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const may = me.data?.permissions.includes("alert-handle") ?? false;
  const refused = may ? undefined : t("health.operatorsOnly");
  const free = group.count - group.acknowledged;
  const take = () => {
    acknowledgeGroup(group).then(() => client.invalidateQueries({ queryKey: keys.alerts }), setError);
  };
  return (
    <div className="handling sm">
      {children}
      {free > 0 ? <button type="button" className="btn sml" disabled={!may} title={refused} onClick={take}>{t("health.acknowledgeAll", { count: free })}</button> : null}
      {group.silenced ? null : <button type="button" className="btn sml" disabled={!may} title={refused} onClick={() => { setAsked(true); }}>{t("health.silenceKind")}</button>}
      {error ? <span role="alert">{asProblem(error).message}</span> : null}
      {asked ? <SilenceDialog about={{ code: group.code, subject_type: "", subject_id: "" }} onClose={() => { setAsked(false); }} /> : null}
    </div>
  );
}
