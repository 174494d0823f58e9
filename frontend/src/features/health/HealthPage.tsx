// What needs a person: open alerts, what cleared lately, devices and nodes out of service.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { alertGroupsQuery, clearedAlertsQuery, overviewQuery } from "@/api/queries";
import type { DeviceHealth, NodeState, Overview } from "@/api/types";
import { count } from "@/lib/format";
import { ApiCall } from "@/ui/ApiCall";
import { Answer } from "@/ui/ListLooks";
import { Columns, PageHead, Panel } from "@/ui/Panel";
import { type StateName, StateWord } from "@/ui/StateGlyph";
import { AlertGroups } from "./AlertGroups";
import { groupsOf } from "./groups";
import { Rules } from "./Rules";
import { Silences } from "./Silences";

export function HealthPage() {
  const { t } = useTranslation();
  const open = useQuery(alertGroupsQuery);
  const cleared = useQuery(clearedAlertsQuery);
  const overview = useQuery(overviewQuery);
  const heard = open.data?.filter((group) => !group.silenced) ?? [];
  const silenced = open.data?.filter((group) => group.silenced) ?? [];
  const many = heard.reduce((sum, group) => sum + group.count, 0);
  return (
    <div className="page">
      <PageHead title={t("health.title")} sub={open.data ? t("health.open", { count: many }) : null} actions={<ApiCall call={{ method: "GET", path: "/api/v1/alert-groups" }} />} />
      <Columns parts={[1.6, 1]}>
        <div className="stack">
          <Panel title={t("health.needsPerson")} main={many > 0}>
            <Answer query={open} loading={t("health.reading")}>
              {() => (many > 0 ? <AlertGroups groups={heard} handled /> : <p className="mut">{t("health.calm")}</p>)}
            </Answer>
          </Panel>
          {silenced.length > 0 ? <Panel title={t("health.silencedTitle")}><AlertGroups groups={silenced} handled /></Panel> : null}
          <Panel title={t("health.cleared")} meta={cleared.data?.next ? t("health.newestOf", { count: cleared.data.results.length }) : null}>
            <Answer query={cleared} loading={t("health.reading")}>
              {(page) => (page.results.length > 0 ? <AlertGroups groups={groupsOf(page.results)} /> : <p className="mut">{t("health.noneCleared")}</p>)}
            </Answer>
          </Panel>
        </div>
        <div className="stack">
          <Answer query={overview} loading={t("health.reading")}>{(data) => <Counts overview={data} />}</Answer>
          <Silences />
          <Rules />
        </div>
      </Columns>
    </div>
  );
}

const NODE_STATES: readonly NodeState[] = ["ready", "enrolled", "cordoned", "draining", "maintenance", "silent", "lost", "quarantined"];
const DEVICE_STATES: readonly DeviceHealth[] = ["healthy", "suspect", "quarantined", "recovered", "missing", "unknown"];

function Counts({ overview }: { overview: Overview }) {
  const { t } = useTranslation();
  return (
    <div className="stack">
      <Panel title={t("health.nodes")} meta={<Link to="/nodes">{t("health.all", { count: overview.nodes.total, total: count(overview.nodes.total) })}</Link>}>
        <table><tbody>{NODE_STATES.map((state) => <Row key={state} state={state} number={overview.nodes[state]} to={{ to: "/nodes", search: { state } }} />)}</tbody></table>
      </Panel>
      <Panel title={t("health.devices")} meta={<Link to="/map">{t("health.onMap")}</Link>}>
        {overview.devices.total === 0 ? <p className="mut">{t("health.noDevices")}</p> : (
          <table><tbody>{DEVICE_STATES.map((state) => <Row key={state} state={state} number={overview.devices[state]} to={{ to: "/map", search: { spot: state } }} />)}</tbody></table>
        )}
      </Panel>
    </div>
  );
}

interface RowProps { state: StateName; number: number; to: { to: "/map" | "/nodes"; search: Record<string, string> } }

function Row({ state, number, to }: RowProps) {
  return (
    <tr>
      <td><StateWord state={state} /></td>
      <td className="r">{number > 0 ? <Link {...to}>{count(number)}</Link> : count(number)}</td>
    </tr>
  );
}
