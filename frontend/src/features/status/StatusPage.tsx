// The control plane itself: version, cycles and how long they take, what they decide.
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { cyclesQuery, statusQuery } from "@/api/queries";
import { meQuery } from "@/api/session";
import type { Cycle } from "@/api/types";
import { useLink } from "@/app/context";
import { PauseSwitch } from "@/features/pauses/PauseSwitch";
import { clockTime, count, duration, withUnit } from "@/lib/format";
import { useWidth } from "@/lib/useWidth";
import { ApiCall } from "@/ui/ApiCall";
import { Answer } from "@/ui/ListLooks";
import { Columns, PageHead, Panel } from "@/ui/Panel";
import { niceStep } from "@/ui/StaffGauge";
import { Recordings } from "./Recordings";
import { CycleFigures, CycleSentence, Parts } from "./SelfWatch";
import "@/features/why/why.css";
import "./status.css";

const STATUS_MS = 10_000;

export function StatusPage() {
  const { t } = useTranslation();
  const { data: me } = useQuery(meQuery);
  const status = useQuery({ ...statusQuery, refetchInterval: STATUS_MS });
  const cycles = useQuery(cyclesQuery);
  return (
    <div className="page">
      <PageHead title={t("status.title")} sub={me ? t("status.sub", { version: me.cluster.version }) : null} actions={<ApiCall call={{ method: "GET", path: "/api/v1/status", note: t("status.apiNote") }} />} />
      <Columns parts={[1.6, 1]}>
        <div className="stack">
          <Panel title={t("status.watch")} meta={t("status.watchNote")}>
            <Answer query={status} loading={t("status.readingStatus")}>{({ cycle }) => <><CycleSentence cycle={cycle} /><CycleFigures cycle={cycle} /></>}</Answer>
          </Panel>
          <Panel title={t("status.cycles")} meta={t("status.cyclesNote")}>
            <Answer query={cycles} loading={t("status.reading")}>
              {(page) => (page.results.length > 0 ? <Cycles cycles={page.results} /> : <p className="mut">{t("status.noCycle")}</p>)}
            </Answer>
          </Panel>
          <Recordings />
        </div>
        <div className="stack">
          <System />
          <Answer query={status} loading={t("status.readingStatus")}>{(data) => <Parts status={data} />}</Answer>
        </div>
      </Columns>
    </div>
  );
}

function System() {
  const { t } = useTranslation();
  const { data: me } = useQuery(meQuery);
  const link = useLink();
  return (
    <Panel title={t("status.system")}>
      <dl className="facts">
        <dt>{t("status.cluster")}</dt><dd>{me?.cluster.name}</dd>
        <dt>{t("status.uid")}</dt><dd className="mono">{me?.cluster.uid}</dd>
        <dt>{t("status.version")}</dt><dd>{me?.cluster.version}</dd>
        <dt>{t("status.paused")}</dt><dd>{me && !me.cluster.paused ? `${t("status.no")} ` : null}<PauseSwitch part={{}} /></dd>
        <dt>{t("status.link")}</dt><dd>{t(`app.link.${link}`)}</dd>
      </dl>
    </Panel>
  );
}

function Cycles({ cycles }: { cycles: readonly Cycle[] }) {
  const { t, i18n } = useTranslation();
  return (
    <>
      <WallChart cycles={cycles} />
      <div className="scroll" style={{ marginTop: 14, maxHeight: 300, overflowY: "auto" }} tabIndex={0} role="region" aria-label={t("status.cycles")}>
        <table style={{ minWidth: 620 }}>
          <thead><tr><th className="r">{t("status.cycle")}</th><th className="r">{t("status.at")}</th><th className="r">{t("status.wall")}</th><th className="r">{t("status.cpu")}</th><th className="r">{t("status.considered")}</th><th className="r">{t("status.placed")}</th><th className="r">{t("status.waitsOn")}</th><th className="r">{t("status.refused")}</th><th className="r">{t("status.stale")}</th></tr></thead>
          <tbody>
            {cycles.map((cycle) => (
              <tr key={cycle.id}>
                <td className="r">{count(cycle.id)}</td><td className="r nw">{clockTime(cycle.at, i18n.language)}</td><td className="r nw">{withUnit(cycle.wall_ms, "ms")}</td><td className="r nw">{withUnit(cycle.cpu_ms, "ms")}</td>
                <td className="r">{count(cycle.considered)}</td><td className="r">{count(cycle.placed)}</td><td className="r">{count(cycle.waiting)}</td><td className="r">{count(cycle.refused)}</td><td className="r">{count(cycle.stale)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className="sm mut" style={{ marginTop: 8 }}>{t("status.adds")}</p>
    </>
  );
}

const HEIGHT = 120;
const LEFT = 54;
const FLOOR = HEIGHT - 18;
const GAP = 1;

/** How long each cycle took, oldest first; the table below has the same figures. */
function WallChart({ cycles }: { cycles: readonly Cycle[] }) {
  const { t, i18n } = useTranslation();
  const [ref, width] = useWidth<HTMLDivElement>(720);
  const old = [...cycles].reverse();
  const most = Math.max(1, ...old.map((cycle) => cycle.wall_ms));
  const step = niceStep(most, 3);
  const top = Math.ceil(most / step) * step;
  const y = (value: number) => FLOOR - (value / top) * (FLOOR - 8);
  const bar = (width - LEFT) / old.length;
  const first = old[0];
  return (
    <div ref={ref}>
      <svg width={width} height={HEIGHT} role="img" aria-label={t("status.chart", { count: old.length, most: duration(most) })}>
        {Array.from({ length: Math.round(top / step) + 1 }, (_, index) => index * step).map((tick) => (
          <g key={tick}><path className="ax" d={`M${LEFT} ${Math.round(y(tick)) + 0.5}H${width}`} /><text x={LEFT - 6} y={y(tick) + 4} textAnchor="end" className="d">{tick === top ? withUnit(tick, "ms") : count(tick)}</text></g>
        ))}
        {old.map((cycle, index) => <rect key={cycle.id} x={LEFT + index * bar} y={y(cycle.wall_ms)} width={Math.max(1, bar - GAP)} height={FLOOR - y(cycle.wall_ms)} fill="var(--water)" />)}
        <path className="axs" d={`M${LEFT} ${FLOOR + 0.5}H${width}`} />
        {first ? <text x={LEFT} y={HEIGHT - 3} className="d">{clockTime(first.at, i18n.language)}</text> : null}
        <text x={width} y={HEIGHT - 3} textAnchor="end" className="d">{t("status.now")}</text>
      </svg>
    </div>
  );
}
