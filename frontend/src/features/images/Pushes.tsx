// What nodes fetch ahead of demand, where and why; one stage at a time or all of them.
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { type ImagePush, pushesQuery, type PushStage } from "@/api/images";
import { rows } from "@/api/queries";
import { Broken, Empty, Loading, Stale } from "@/ui/ListLooks";
import { Panel } from "@/ui/Panel";
import { Ended, Stage, Why } from "./Stage";
import { STAGES } from "./search";

interface Props { stage?: PushStage; onStage: (stage: PushStage | undefined) => void }

export function Pushes({ stage, onStage }: Props) {
  const { t } = useTranslation();
  const query = useInfiniteQuery(pushesQuery(stage ? { stage } : {}));
  return (
    <Panel title={t("images.ahead")}>
      <div className="chips" role="group" aria-label={t("images.ahead")} style={{ marginBottom: 10 }}>
        {STAGES.map((name) => (
          <button key={name} type="button" className="chip" aria-pressed={stage === name} onClick={() => onStage(stage === name ? undefined : name)}>{t(`images.stage.${name}`)}</button>
        ))}
      </div>
      {query.data === undefined ? (
        query.error ? <Broken error={query.error} onRetry={() => void query.refetch()} /> : <Loading what={t("images.reading")} />
      ) : (
        <Rows pushes={rows(query.data)} stale={query.error ? query.dataUpdatedAt : null} />
      )}
      {query.hasNextPage ? (
        <button type="button" className="btn" style={{ marginTop: 12 }} disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>{t("ui.more")}</button>
      ) : null}
    </Panel>
  );
}

function Rows({ pushes, stale }: { pushes: readonly ImagePush[]; stale: number | null }) {
  const { t } = useTranslation();
  if (pushes.length === 0) return <Empty title={t("images.noneAhead")}>{t("images.noneAheadNext")}</Empty>;
  const table = (
    <div className="scroll">
      <table style={{ minWidth: 720 }}>
        <thead><tr><th>{t("images.image")}</th><th>{t("images.node")}</th><th>{t("images.standing")}</th><th>{t("images.because")}</th><th>{t("images.last")}</th></tr></thead>
        <tbody>
          {pushes.map((push) => (
            <tr key={push.id}>
              <td style={{ overflowWrap: "anywhere" }}>{push.image}</td>
              <td><Link to="/nodes/$id" params={{ id: push.node }}>{push.node_name}</Link></td>
              <td><Stage push={push} /></td><td><Why push={push} /></td><td className="nw"><Ended push={push} /></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
  return stale == null ? table : <Stale at={stale}>{table}</Stale>;
}
