// Recorded decisions: each holds all one plan was made from, to download, to replay and to ask what-if of.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { recordingDocument, recordingsQuery } from "@/api/queries";
import type { Recording } from "@/api/types";
import { useMay } from "@/app/context";
import { count, dateTime, decimal, withUnit } from "@/lib/format";
import { Answer, Empty } from "@/ui/ListLooks";
import { Panel } from "@/ui/Panel";
import { None } from "@/ui/Words";

const KIB = 1024;
const size = (bytes: number) => (bytes < KIB ? withUnit(bytes, "B") : bytes < KIB * KIB ? withUnit(decimal(bytes / KIB, 1), "KiB") : withUnit(decimal(bytes / KIB / KIB, 1), "MiB"));

export function Recordings() {
  const { t } = useTranslation();
  const may = useMay("recording-read");
  const query = useQuery({ ...recordingsQuery, enabled: may });
  if (!may) return null;
  return (
    <Panel title={t("status.recordings")} meta={t("status.recordingsNote")}>
      <Answer query={query} loading={t("status.readingRecordings")}>
        {(page) => (page.results.length > 0 ? <Table recordings={page.results} /> : <Empty title={t("status.noRecording")}>{t("status.noRecordingNext")}</Empty>)}
      </Answer>
    </Panel>
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
              <td className="r">{String(one.id)}</td><td className="r nw">{dateTime(one.at, i18n.language)}</td><td className="r">{one.cycle == null ? <None /> : String(one.cycle)}</td><td className="r">{count(one.nodes)}</td>
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
