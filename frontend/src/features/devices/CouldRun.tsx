// What could run on a device: the largest request it takes now, which waiting jobs could use it, or why it takes nothing.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { deviceFitsQuery } from "@/api/queries";
import type { Device, DeviceFits } from "@/api/types";
import { JobLink } from "@/features/nodes/JobLink";
import { SheetSection } from "@/features/nodes/SideSheet";
import { count, memory, percent } from "@/lib/format";
import { Answer } from "@/ui/ListLooks";
import { Unknown } from "@/ui/Words";

const JOBS_SHOWN = 5;
/** Reasons that pass with what is on the device. */
const WHEN_FREE = new Set(["device-busy", "foreign-use"]);

export function CouldRun({ device }: { device: Device }) {
  const { t } = useTranslation();
  const query = useQuery(deviceFitsQuery(device.id));
  return (
    <SheetSection title={t("devices.couldRun")} note={t("devices.couldRunNote")}>
      <div className="sm">
        <Answer query={query} loading={t("devices.readingFits")}>{(fits) => (fits.code ? <Nothing code={fits.code} text={fits.text} device={device} /> : <Fits fits={fits} />)}</Answer>
      </div>
    </SheetSection>
  );
}

function Nothing({ code, text, device }: { code: string; text: string | null; device: Device }) {
  const { t } = useTranslation();
  const known = device.cordoned && code === "device-health" ? "cordoned" : code;
  const reason = t(`devices.takesNothing.${known}`, { defaultValue: text ?? code, state: t(`ui.state.${device.health}`) });
  const whole = WHEN_FREE.has(code) ? device.memory_total_mib : null;
  return (
    <>
      <p><b>{t("devices.nothingNow")}</b> {reason}</p>
      {whole ? <p className="mut">{t("devices.whenFree", { size: memory(whole) })}</p> : null}
    </>
  );
}

function Fits({ fits }: { fits: DeviceFits }) {
  const { t } = useTranslation();
  const { alone_mib: alone, shared_mib: shared, compute_milli: compute, cores, host_memory_mib: host } = fits.largest;
  return (
    <>
      <dl className="facts">
        <dt>{t("devices.largestAlone")}</dt><dd><Largest mib={alone} none={t("devices.notAlone")} /></dd>
        <dt>{t("devices.largestShared")}</dt><dd><Largest mib={shared} none={t("devices.notShared")} /></dd>
        <dt>{t("devices.withIt")}</dt><dd>{t("devices.withItOf", { share: percent(compute / 10, 0), count: cores, cores: count(cores), memory: host === null ? t("ui.unknown") : memory(host) })}</dd>
        <dt>{t("devices.waitingFit")}</dt><dd><Waiting jobs={fits.jobs} total={fits.jobs_total} /></dd>
      </dl>
    </>
  );
}

function Largest({ mib, none }: { mib: number | null; none: string }) {
  const { t } = useTranslation();
  if (mib === null) return <Unknown why={t("devices.totalUnknown")} />;
  return mib > 0 ? <b>1 × {memory(mib)}</b> : <span className="mut">{none}</span>;
}

function Waiting({ jobs, total }: { jobs: DeviceFits["jobs"]; total: number }) {
  const { t } = useTranslation();
  const [all, setAll] = useState(false);
  if (jobs.length === 0) return <span className="mut">{t("devices.noWaiting")}</span>;
  const shown = all ? jobs : jobs.slice(0, JOBS_SHOWN);
  return (
    <ul className="plain">
      {shown.map((job) => <li key={job.id}><JobLink id={job.id} name={job.name} /> <span className="dim">· {job.queue}</span></li>)}
      {jobs.length > shown.length ? <li><button type="button" className="linkish" onClick={() => setAll(true)}>{t("devices.andMore", { count: jobs.length - shown.length })}</button></li> : null}
      {all && total > jobs.length ? <li className="dim">{t("devices.beyond", { count: total - jobs.length })}</li> : null}
    </ul>
  );
}
