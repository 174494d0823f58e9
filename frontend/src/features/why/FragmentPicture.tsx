// The fragment picture: devices and the request on one scale in GiB. Free parts are stippled, the safety share hatched,
// and a dashed line carries the level of the largest free piece over to the job.
import { useTranslation } from "react-i18next";
import type { FragmentPicture as Facts } from "@/api/types";
import { gib, memory, NB, pieces } from "@/lib/format";
import { usePhone } from "@/lib/usePhone";
import { useWidth } from "@/lib/useWidth";
import { niceStep, StaffGauge } from "@/ui/StaffGauge";
import { type Layout, layoutVessels, pictureFacts, type PictureFacts, type Vessel, vesselParts } from "./picture";

const TOP = 44;
const HEIGHT = 236;
const JOB_LABELS = 156;
const PHONE_JOB_LABELS = 74;

export function FragmentPicture({ picture }: { picture: Facts }) {
  const [ref, width] = useWidth<HTMLDivElement>(760);
  const phone = usePhone();
  return <div ref={ref}><Drawing picture={picture} width={width} phone={phone} /></div>;
}

function Drawing({ picture, width, phone }: { picture: Facts; width: number; phone: boolean }) {
  const { t } = useTranslation();
  const facts = pictureFacts(picture);
  const left = phone ? 42 : 58;
  const jobWidth = phone ? 50 : 74;
  const toJob = phone ? 22 : 46;
  const layout = layoutVessels(facts, width - left - toJob - jobWidth - (phone ? PHONE_JOB_LABELS : JOB_LABELS), phone);
  const scale = HEIGHT / facts.maxMib;
  const partlyShown = layout.shown.filter((vessel) => facts.partly.includes(vessel)).length;
  const endOfPartly = left + partlyShown * (layout.wide + layout.gap) - layout.gap;
  const fullShown = layout.shown.length - partlyShown;
  const endOfVessels = fullShown > 0 ? endOfPartly + layout.narrow + fullShown * layout.step : endOfPartly;
  const jobX = endOfVessels + toJob - (fullShown > 0 ? 8 : 0);
  const topOfJob = TOP + HEIGHT - facts.largestTotalMib * scale;
  const overflow = Math.max(0, topOfJob + facts.needMib * scale - TOP - HEIGHT);
  const level = topOfJob + facts.largestMib * scale;
  const step = niceStep(facts.maxMib / 1024, 4);
  const labels = Array.from({ length: Math.floor(facts.maxMib / 1024 / step + 0.001) + 1 }, (_, i) => i * step);
  return (
    <svg width={width} height={HEIGHT + 90 + overflow + (layout.hidden > 0 ? 14 : 0)} role="img"
      aria-label={t("why.pictureLabel", { node: picture.node_name, pieces: pieces(facts.freeMib), total: memory(facts.freeTotalMib), need: memory(facts.needMib), short: memory(facts.shortMib) })}>
      <StaffGauge x={phone ? 22 : 30} y={TOP} height={HEIGHT} max={facts.maxMib / 1024} step={step / 4} labels={labels} width={10} />
      <text x={phone ? 0 : 24} y={TOP - 14} textAnchor={phone ? "start" : "end"} className="d">GiB</text>
      {layout.shown.map((vessel, index) => (
        <g key={vessel.index} transform={`translate(${vesselX(index, partlyShown, left, endOfPartly, layout)} ${TOP + HEIGHT})`}>
          {index < partlyShown ? <WideVessel vessel={vessel} width={layout.wide} scale={scale} phone={phone} /> : <NarrowVessel vessel={vessel} width={layout.narrow} scale={scale} />}
        </g>
      ))}
      {fullShown > 0 ? (
        <text x={endOfPartly + layout.narrow + (fullShown * layout.step) / 2 - 4} y={TOP + HEIGHT + 31} textAnchor="middle" className="d">{t("why.bookedWhole")}</text>
      ) : null}
      {partlyShown > 0 ? <Bracket facts={facts} node={picture.node_name} from={left} to={endOfPartly} phone={phone} /> : null}
      <path d={`M${endOfPartly + (phone ? 2 : 8)} ${level}H${jobX + jobWidth}`} stroke="var(--signal)" strokeDasharray="4 3" />
      <Job facts={facts} x={jobX} y={topOfJob} width={jobWidth} scale={scale} phone={phone} />
      {layout.hidden > 0 ? <text x={left} y={HEIGHT + 98 + overflow} className="d">{t("why.hidden", { count: layout.hidden })}</text> : null}
    </svg>
  );
}

function vesselX(index: number, partly: number, left: number, endOfPartly: number, layout: Layout): number {
  return index < partly ? left + index * (layout.wide + layout.gap) : endOfPartly + layout.narrow + (index - partly) * layout.step;
}

/** A vessel stands on y = 0; heights grow upwards. */
function WideVessel({ vessel, width, scale, phone }: { vessel: Vessel; width: number; scale: number; phone: boolean }) {
  const { t } = useTranslation();
  const { bookedMib, blockedMib, freeMib } = vesselParts(vessel);
  const booked = bookedMib * scale;
  const blocked = blockedMib * scale;
  const free = freeMib * scale;
  const total = vessel.total_mib * scale;
  const short = phone || width < 60;
  const plate = short ? 26 : 56;
  return (
    <>
      <rect y={-booked} width={width} height={booked} fill="var(--booked)" />
      {vessel.used_mib == null ? null : (
        <rect x={width * 0.3} y={-Math.min(total, vessel.used_mib * scale)} width={width * 0.4} height={Math.min(total, vessel.used_mib * scale)} fill="var(--water)" />
      )}
      {blocked > 0.5 ? <rect y={-booked - blocked} width={width} height={blocked} fill="url(#hatch)" /> : null}
      <rect y={-total} width={width} height={free} fill="url(#dots)" stroke="var(--booked-edge)" />
      <path d={`M0 ${-total - 6}V0H${width}V${-total - 6}`} fill="none" stroke="var(--ink)" strokeWidth="2" />
      {free >= 22 ? <rect x={width / 2 - plate / 2} y={-total + free / 2 - 10} width={plate} height={20} fill="var(--surface)" /> : null}
      <text x={width / 2} y={free >= 22 ? -total + free / 2 + 5 : -total - 10} textAnchor="middle" className="k" style={{ fontSize: 13 }}>{short ? gib(freeMib) : memory(freeMib)}</text>
      <text x={width / 2} y={17} textAnchor="middle" className="k">d{vessel.index}</text>
      <text x={width / 2} y={31} textAnchor="middle" className="d">{short ? gib(bookedMib) : t("why.bookedGib", { gib: gib(bookedMib) })}</text>
    </>
  );
}

function NarrowVessel({ vessel, width, scale }: { vessel: Vessel; width: number; scale: number }) {
  const total = vessel.total_mib * scale;
  const { bookedMib, blockedMib } = vesselParts(vessel);
  const used = Math.min(total, (vessel.used_mib ?? 0) * scale);
  return (
    <>
      <rect y={-bookedMib * scale} width={width} height={bookedMib * scale} fill="var(--booked)" />
      {blockedMib > 0 ? <rect y={-(bookedMib + blockedMib) * scale} width={width} height={blockedMib * scale} fill="url(#hatch)" /> : null}
      {used > 0 ? <rect x={width / 2 - 5} y={-used} width={10} height={used} fill="var(--water)" /> : null}
      <path d={`M0 ${-total - 6}V0H${width}V${-total - 6}`} fill="none" stroke="var(--ink)" strokeWidth="1.5" />
      <text x={width / 2} y={17} textAnchor="middle">d{vessel.index}</text>
    </>
  );
}

function Bracket({ facts, node, from, to, phone }: { facts: PictureFacts; node: string; from: number; to: number; phone: boolean }) {
  const { t } = useTranslation();
  const middle = (from + to) / 2;
  const sum = `${pieces(facts.freeMib)} = ${memory(facts.freeTotalMib)}`;
  const plate = Math.min(to - from - 16, phone ? 128 : 224);
  return (
    <>
      <path d={`M${from} ${TOP - 16}v-7H${to}v7`} fill="none" stroke="var(--booked-edge)" strokeWidth="1.5" />
      <rect x={middle - plate / 2} y={TOP - 36} width={Math.max(0, plate)} height={20} fill="var(--surface)" />
      <text x={middle} y={TOP - 19} textAnchor="middle" className="h">
        <tspan className="k" style={{ fontSize: 13 }}>{sum}</tspan> {phone ? "" : t("why.freeOn", { node })}
      </text>
    </>
  );
}

interface JobProps { facts: PictureFacts; x: number; y: number; width: number; scale: number; phone: boolean }

function Job({ facts, x, y, width, scale, phone }: JobProps) {
  const { t } = useTranslation();
  const request = facts.requestMib * scale;
  const safety = facts.safetyMib * scale;
  const fits = Math.min(facts.largestMib, facts.requestMib) * scale;
  const short = facts.shortMib > 0;
  return (
    <>
      <text x={x + width / 2} y={TOP - 19} textAnchor="middle" className="k" style={{ fontSize: 13 }}>{t("why.thisJob")}</text>
      <rect x={x} y={y} width={width} height={request} fill="var(--signal-fill)" />
      {safety > 0 ? <rect x={x} y={y + request} width={width} height={safety} fill="url(#hatch-signal)" stroke="var(--signal)" /> : null}
      <rect x={x} y={y} width={width} height={request} fill="none" stroke="var(--signal)" strokeWidth="1.5" />
      {short && fits > 1 && fits < request ? <path d={`M${x} ${y + fits}h${width}`} stroke="var(--surface)" strokeWidth="1.5" strokeDasharray="4 3" /> : null}
      {fits >= 34 ? <Words x={x + width / 2} y={y + fits / 2} word={t("why.fits")} figure={memory(facts.largestMib)} /> : null}
      {short && request - fits >= 34 ? (
        <Words x={x + width / 2} y={y + (fits + request) / 2} word={t(phone ? "why.no" : "why.doesNot")} figure={memory(facts.shortMib)} />
      ) : null}
      <Sums facts={facts} x={x + width + 12} y={y} request={request} safety={safety} phone={phone} />
    </>
  );
}

function Words({ x, y, word, figure }: { x: number; y: number; word: string; figure: string }) {
  return (
    <g textAnchor="middle" style={{ fill: "var(--on-signal)" }}>
      <text x={x} y={y - 1} style={{ fill: "var(--on-signal)", fontWeight: 600, fontSize: 13 }}>{word}</text>
      <text x={x} y={y + 14} style={{ fill: "var(--on-signal)" }}>{figure}</text>
    </g>
  );
}

/** The sum beside the job: asked, safety, together, the largest piece, what is short. */
function Sums({ facts, x, y, request, safety, phone }: { facts: PictureFacts; x: number; y: number; request: number; safety: number; phone: boolean }) {
  const { t } = useTranslation();
  const end = y + request + safety;
  const middle = y + Math.max(20, request / 2);
  const below = Math.max(end, middle + 24);
  return (
    <>
      <path d={`M${x} ${y}h6V${y + request - 1}h-6`} fill="none" stroke="var(--ink-2)" />
      <text x={x + 12} y={middle - 2} className="k" style={{ fontSize: 13 }}>{memory(facts.requestMib)}</text>
      <text x={x + 12} y={middle + 13}>{t(phone ? "why.asked" : "why.askedInOne")}</text>
      {safety > 0 ? (
        <>
          <path d={`M${x} ${y + request + 1}h6V${end}h-6`} fill="none" stroke="var(--ink-2)" />
          <text x={x + 12} y={Math.max(y + request + safety / 2 + 4, middle + 28)}>
            <tspan className="k">+{NB}{memory(facts.safetyMib)}</tspan> {phone ? "" : t("why.safety")}
          </text>
        </>
      ) : null}
      <text x={x + 12} y={below + 22} className="k" style={{ fontSize: 13 }}>= {memory(facts.needMib)}</text>
      {phone ? null : <text x={x + 12} y={below + 37}>{t("why.largest", { size: memory(facts.largestMib) })}</text>}
      {facts.shortMib > 0 ? (
        <text x={x + 12} y={below + 53} style={{ fill: "var(--signal)", fontWeight: 600 }}>{t("why.short", { size: memory(facts.shortMib) })}</text>
      ) : null}
    </>
  );
}
