// The arithmetic of the fragment picture: what is free in which piece, what the job needs, how much is missing.
import type { FragmentPicture } from "@/api/types";

type Drawn = FragmentPicture["devices"][number];
/** A device whose size is known; one of unknown size cannot be drawn to scale. */
export type Vessel = Drawn & { total_mib: number };

export interface PictureFacts {
  /** Vessels with a free piece, largest first as they come; then those without. */
  partly: Vessel[];
  full: Vessel[];
  freeMib: number[];
  freeTotalMib: number;
  largestMib: number;
  largestTotalMib: number;
  requestMib: number;
  safetyMib: number;
  needMib: number;
  /** What is missing in the largest piece; 0 where the job fits. */
  shortMib: number;
  maxMib: number;
}

// A piece below this share of its device is not drawn as a piece of its own.
const PIECE_SHARE = 0.01;

export function pictureFacts(picture: FragmentPicture): PictureFacts {
  const devices = picture.devices.filter((device): device is Vessel => device.total_mib != null);
  const hasPiece = (vessel: Vessel) => vessel.free_mib > vessel.total_mib * PIECE_SHARE;
  const partly = devices.filter(hasPiece);
  const largest = partly.reduce<Vessel | null>((best, vessel) => (best && best.free_mib >= vessel.free_mib ? best : vessel), null);
  const maxMib = Math.max(1, ...devices.map((vessel) => vessel.total_mib));
  const needMib = picture.request_mib + picture.safety_mib;
  const largestMib = largest?.free_mib ?? 0;
  return {
    partly,
    full: devices.filter((vessel) => !hasPiece(vessel)),
    freeMib: partly.map((vessel) => vessel.free_mib),
    freeTotalMib: partly.reduce((sum, vessel) => sum + vessel.free_mib, 0),
    largestMib,
    largestTotalMib: largest?.total_mib ?? maxMib,
    requestMib: picture.request_mib,
    safetyMib: picture.safety_mib,
    needMib,
    shortMib: Math.max(0, needMib - largestMib),
    maxMib,
  };
}

/** What stands in one vessel, from the bottom up; the three parts are its whole. */
export function vesselParts(vessel: Vessel): { bookedMib: number; blockedMib: number; freeMib: number } {
  const bookedMib = Math.min(vessel.total_mib, vessel.booked_mib);
  const freeMib = Math.min(vessel.free_mib, vessel.total_mib - bookedMib);
  return { bookedMib, freeMib, blockedMib: vessel.total_mib - bookedMib - freeMib };
}

export interface Layout { wide: number; gap: number; narrow: number; step: number; shown: Vessel[]; hidden: number }

const WIDE = { wide: 74, gap: 20, narrow: 26, step: 34 };
const PHONE = { wide: 36, gap: 8, narrow: 0, step: 0 };

/** How wide the vessels may be drawn in `roomPx`; those that find no room are counted. */
export function layoutVessels(facts: PictureFacts, roomPx: number, phone: boolean): Layout {
  const base = phone ? PHONE : WIDE;
  const narrowPx = base.step * facts.full.length + (facts.full.length ? base.narrow : 0);
  const full = phone || narrowPx > roomPx / 2 ? [] : facts.full;
  const room = roomPx - (full.length ? base.step * full.length + base.narrow : 0);
  const count = facts.partly.length;
  const fits = Math.max(1, Math.floor((room + 8) / (36 + 8)));
  const partly = facts.partly.slice(0, fits);
  const joints = Math.max(1, partly.length - 1);
  const wide = Math.max(36, Math.min(base.wide, Math.floor((room - 8 * joints) / Math.max(1, partly.length))));
  const gap = Math.max(8, Math.min(base.gap, Math.floor((room - wide * partly.length) / joints)));
  return { ...base, wide, gap, shown: [...partly, ...full], hidden: facts.full.length - full.length + count - partly.length };
}
