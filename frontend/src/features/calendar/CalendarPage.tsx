// The coming days: windows of the policy on one axis, free capacity by the hour, promised starts, nodes out of service.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { type Calendar, calendarQuery } from "@/api/calendar";
import { JobLink } from "@/features/nodes/JobLink";
import { dateTime, duration } from "@/lib/format";
import { useNow } from "@/lib/useNow";
import { ApiCall } from "@/ui/ApiCall";
import { Answer, Empty } from "@/ui/ListLooks";
import { Columns, PageHead, Panel } from "@/ui/Panel";
import { Seg } from "@/ui/Seg";
import { None } from "@/ui/Words";
import { ForecastPanel } from "./ForecastPanel";
import { Windows } from "./Windows";

const SPANS = ["2", "7", "31"] as const;
const HOURS = { "2": 48, "7": 168, "31": 168 } as const;
type Span = (typeof SPANS)[number];

export function CalendarPage() {
  const { t } = useTranslation();
  const [span, setSpan] = useState<Span>("2");
  const query = useQuery(calendarQuery(Number(span)));
  const call = { method: "GET", path: `/api/v1/calendar?days=${span}`, cli: `headrace calendar --days ${span}\nheadrace forecast --hours ${HOURS[span]}` };
  const choice = <Seg label={t("calendar.span")} value={span} onChange={setSpan} options={SPANS.map((value) => ({ value, label: t("calendar.days", { days: value }) }))} />;
  return (
    <div className="page">
      <PageHead title={t("calendar.title")} sub={query.data ? t("calendar.zone", { zone: query.data.time_zone }) : null} actions={<>{choice}<ApiCall call={call} /></>} />
      <Panel title={t("calendar.windows")} meta={t("calendar.windowsNote")}><Answer query={query} loading={t("calendar.reading")}>{(found) => <Windows calendar={found} />}</Answer></Panel>
      <div className="gap-top"><ForecastPanel hours={HOURS[span]} /></div>
      <Columns parts={[1.2, 1]} top={18}>
        <Panel title={t("calendar.promised")} meta={t("calendar.promisedNote")}><Answer query={query} loading={t("calendar.reading")}>{(found) => <Promised calendar={found} />}</Answer></Panel>
        <Panel title={t("calendar.nodes")}><Answer query={query} loading={t("calendar.reading")}>{(found) => <NodesOut calendar={found} />}</Answer></Panel>
      </Columns>
    </div>
  );
}

/** A moment, and how long it is until then. */
function When({ at }: { at: string }) {
  const { t, i18n } = useTranslation();
  const left = Date.parse(at) - useNow();
  return <>{dateTime(at, i18n.language)} <span className="dim">{left > 0 ? t("calendar.in", { time: duration(left) }) : t("calendar.due")}</span></>;
}

function Promised({ calendar: { promised, promised_total: total } }: { calendar: Calendar }) {
  const { t } = useTranslation();
  if (promised.length === 0) return <Empty title={t("calendar.nonePromised")}>{t("calendar.whenPromised")}</Empty>;
  return (
    <div className="scroll">
      <table>
        <thead><tr><th>{t("calendar.job")}</th><th>{t("calendar.node")}</th><th>{t("calendar.starts")}</th></tr></thead>
        <tbody>
          {promised.map((one) => (
            <tr key={`${one.job} ${one.replica}`}>
              <td><JobLink id={one.job} name={one.name} /></td>
              <td><Link to="/nodes/$id" params={{ id: one.node }}>{one.node_name}</Link></td>
              <td className="nw"><When at={one.starts_at} /></td>
            </tr>
          ))}
        </tbody>
      </table>
      {total > promised.length ? <p className="sm mut">{t("calendar.more", { count: total - promised.length })}</p> : null}
    </div>
  );
}

function NodesOut({ calendar: { nodes, nodes_total: total } }: { calendar: Calendar }) {
  const { t } = useTranslation();
  if (nodes.length === 0) return <p className="mut">{t("calendar.noneOut")}</p>;
  return (
    <div className="scroll">
      <table>
        <thead><tr><th>{t("calendar.node")}</th><th>{t("calendar.state")}</th><th>{t("calendar.deadline")}</th></tr></thead>
        <tbody>
          {nodes.map((one) => (
            <tr key={one.node}>
              <td><Link to="/nodes/$id" params={{ id: one.node }}>{one.node_name}</Link></td>
              <td>{t(`calendar.out.${one.state}`)} <span className="dim">{one.reason}</span></td>
              <td className="nw">{one.deadline ? <When at={one.deadline} /> : <None />}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {total > nodes.length ? <p className="sm mut">{t("calendar.more", { count: total - nodes.length })}</p> : null}
    </div>
  );
}
