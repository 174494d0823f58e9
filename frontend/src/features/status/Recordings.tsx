// Recorded decisions: each holds all one plan was made from, to download, to replay and to ask what-if of.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { keys } from "@/api/keys";
import { recordingRequestQuery, requestRecording } from "@/api/pauses";
import { recordingDocument, recordingsQuery } from "@/api/queries";
import type { Recording } from "@/api/types";
import { useMay } from "@/app/context";
import { count, dateTime, decimal, withUnit } from "@/lib/format";
import { Confirm } from "@/ui/Dialog";
import { Answer, Empty } from "@/ui/ListLooks";
import { Panel } from "@/ui/Panel";
import { None } from "@/ui/Words";

const KIB = 1024;
const REQUESTED_MS = 2_000;
const size = (bytes: number) => (bytes < KIB ? withUnit(bytes, "B") : bytes < KIB * KIB ? withUnit(decimal(bytes / KIB, 1), "KiB") : withUnit(decimal(bytes / KIB / KIB, 1), "MiB"));

export function Recordings() {
  const { t } = useTranslation();
  const may = useMay("recording-read");
  const query = useQuery({ ...recordingsQuery, enabled: may });
  if (!may) return null;
  return (
    <Panel title={t("status.recordings")} meta={t("status.recordingsNote")}>
      <RecordNext />
      <Answer query={query} loading={t("status.readingRecordings")}>
        {(page) => (page.results.length > 0 ? <Table recordings={page.results} /> : <Empty title={t("status.noRecording")}>{t("status.noRecordingNext")}</Empty>)}
      </Answer>
    </Panel>
  );
}

/** The switch to record the next cycle whatever it costs, for admins; everybody here sees that it is on. */
function RecordNext() {
  const { t, i18n } = useTranslation();
  const client = useQueryClient();
  const may = useMay("recording-wish");
  const [asked, setAsked] = useState(false);
  const { data } = useQuery({ ...recordingRequestQuery, refetchInterval: (query) => (query.state.data?.wanted ? REQUESTED_MS : false) });
  const wanted = data?.wanted ?? false;
  useEffect(() => {
    // Once it is fulfilled the recording is in the list.
    if (!wanted) void client.invalidateQueries({ queryKey: keys.recordings, exact: true });
  }, [client, wanted]);
  const request = async (reason: string): Promise<void> => {
    await requestRecording(reason);
    await client.invalidateQueries({ queryKey: keys.recordings });
  };
  if (wanted) {
    const who = [data?.actor, data?.since ? dateTime(data.since, i18n.language) : null, data?.reason].filter(Boolean).join(" · ");
    return <p className="note" style={{ marginBottom: 12 }} role="status">{t("status.recordsNext")} <span className="sm mut">{who}</span></p>;
  }
  if (!may) return null;
  return (
    <div style={{ marginBottom: 12 }}>
      <button type="button" className="btn sml" onClick={() => setAsked(true)}>{t("status.recordNext")}…</button>
      {asked ? (
        <Confirm title={t("status.recordNext")} action={t("status.record")} reason call="POST /api/v1/recordings/next" onConfirm={request} onClose={() => setAsked(false)}>
          <p>{t("status.recordNextWhy")}</p>
        </Confirm>
      ) : null}
    </div>
  );
}

function Table({ recordings }: { recordings: readonly Recording[] }) {
  const { t, i18n } = useTranslation();
  return (
    <div className="scroll" style={{ maxHeight: 360, overflowY: "auto" }} tabIndex={0} role="region" aria-label={t("status.recordings")}>
      <table style={{ minWidth: 560 }}>
        <thead><tr><th className="r">{t("status.recording")}</th><th className="r">{t("status.at")}</th><th className="r">{t("status.cycle")}</th><th className="r">{t("status.nodes")}</th><th className="r">{t("status.jobs")}</th><th className="r">{t("status.placed")}</th><th className="r">{t("status.refused")}</th><th className="r">{t("status.size")}</th><th /></tr></thead>
        <tbody>
          {recordings.map((one) => (
            <tr key={one.id}>
              <td className="r">{String(one.id)}</td><td className="r nw">{dateTime(one.at, i18n.language)}</td><td className="r">{one.cycle == null ? <None /> : count(one.cycle)}</td><td className="r">{count(one.nodes)}</td>
              <td className="r">{count(one.jobs)}</td><td className="r">{count(one.placed)}</td><td className="r">{count(one.refused)}</td><td className="r nw">{size(one.bytes)}</td>
              <td className="r nw">
                <a href={recordingDocument(one.id)} download aria-label={t("status.downloadOne", { id: String(one.id) })}>{t("status.download")}</a>{" · "}
                <Link to="/what-if" search={{ recording: one.id }}>{t("status.whatIf")}</Link>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
