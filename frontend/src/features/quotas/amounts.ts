// Devices as people write them, and thousandths of devices as the API counts them.
export const WHOLE_MILLI = 1000;
const MOST_DEVICES = 1_000_000;

/** Thousandths of what is written in devices, for example 2.5; null when it is no such number. */
export function readDevices(text: string): number | null {
  const plain = text.trim().replace(",", ".");
  if (!/^\d{1,7}(\.\d{1,3})?$/.test(plain)) return null;
  const milli = Math.round(Number(plain) * WHOLE_MILLI);
  return milli <= MOST_DEVICES * WHOLE_MILLI ? milli : null;
}

export const devices = (milli: number): string => String(milli / WHOLE_MILLI);
