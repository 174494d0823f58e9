// State marks of vessels and tiles: shape first. All measures are device pixels.
import type { Box, Metrics } from "./scene";
import type { Palette } from "./palette";

type Context = CanvasRenderingContext2D;

/** Dashed hole: gone from the reports. */
export function drawMissing(c: Context, box: Box, m: Metrics, palette: Palette): void {
  c.fillStyle = palette.bg;
  c.fillRect(box.x, box.y, box.width, box.height);
  c.strokeStyle = palette.ink2;
  c.lineWidth = m.line;
  c.setLineDash([2 * m.line, 1.5 * m.line]);
  c.strokeRect(box.x + m.line / 2, box.y + m.line / 2, box.width - m.line, box.height - m.line);
  c.setLineDash([]);
}

/** Stipple: no valid reading. `ground` is null where the booking below stays in sight. */
export function drawUnknown(c: Context, box: Box, m: Metrics, palette: Palette, ground: string | null): void {
  if (ground !== null) {
    c.fillStyle = ground;
    c.fillRect(box.x, box.y, box.width, box.height);
  }
  c.fillStyle = palette.unknown;
  const dot = Math.max(m.line, Math.round(m.scale * 0.8));
  const pitch = 2 * dot;
  for (let row = 0; row * pitch < box.height - dot + 1; row += 1) {
    for (let x = (row % 2) * dot; x < box.width - dot + 1; x += pitch) {
      c.fillRect(box.x + x, box.y + row * pitch, dot, dot);
    }
  }
}

/** Solid block with a cross: out of service. */
export function drawQuarantined(c: Context, box: Box, m: Metrics, palette: Palette): void {
  c.fillStyle = palette.crit;
  c.fillRect(box.x, box.y, box.width, box.height);
  c.save();
  c.beginPath();
  c.rect(box.x, box.y, box.width, box.height);
  c.clip();
  c.strokeStyle = palette.raise;
  c.lineWidth = Math.max(m.line, m.scale * 0.9);
  c.beginPath();
  const middle = box.y + box.height / 2;
  const arm = Math.max(box.width, 5 * m.line) / 2;
  c.moveTo(box.x, middle - arm);
  c.lineTo(box.x + box.width, middle + arm);
  c.moveTo(box.x + box.width, middle - arm);
  c.lineTo(box.x, middle + arm);
  c.stroke();
  c.restore();
}

/** Flag above the tile and a frame: failed checks, still in service. */
export function drawSuspect(c: Context, box: Box, m: Metrics, palette: Palette): void {
  const { line } = m;
  const flag = Math.max(3 * line, Math.round(2.6 * m.scale));
  const cap = Math.max(2 * line, Math.floor(1.4 * m.scale));
  c.fillStyle = palette.signal;
  c.beginPath();
  c.moveTo(box.x - line, box.y - line);
  c.lineTo(box.x + box.width + line, box.y - line);
  c.lineTo(box.x + box.width / 2, box.y + flag + line);
  c.fill();
  c.fillRect(box.x - line, box.y - cap, box.width + 2 * line, cap);
  c.strokeStyle = palette.signal;
  c.lineWidth = line;
  c.strokeRect(box.x - line / 2, box.y - line / 2, box.width + line, box.height + line);
}

/** Ring in the vessel: good again, waits for release. */
export function drawRecovered(c: Context, box: Box, m: Metrics, palette: Palette): void {
  const radius = Math.max(1.5 * m.line, box.width / 2 - m.line / 2);
  const x = box.x + box.width / 2;
  const y = box.y + radius + m.line;
  c.beginPath();
  c.arc(x, y, radius, 0, 2 * Math.PI);
  c.fillStyle = palette.tile;
  c.fill();
  c.strokeStyle = palette.recovered;
  c.lineWidth = Math.max(m.line, m.scale * 0.5);
  c.stroke();
}

/** Gate over a box: an operator closed it. Serves tiles and single vessels. */
export function drawGate(c: Context, box: Box, m: Metrics, palette: Palette): void {
  const { line } = m;
  const beam = Math.max(2 * line, Math.round(1.6 * m.scale));
  const post = Math.max(line, Math.floor(m.scale));
  c.fillStyle = palette.ink;
  c.fillRect(box.x - line, box.y - line, box.width + 2 * line, beam);
  c.fillRect(box.x - line, box.y - line, post, box.height + 2 * line);
  c.fillRect(box.x + box.width + line - post, box.y - line, post, box.height + 2 * line);
}

/** Gate of one vessel: a beam across its mouth with short posts. */
export function drawVesselGate(c: Context, box: Box, m: Metrics, palette: Palette): void {
  const beam = Math.max(m.line, Math.round(m.scale));
  c.fillStyle = palette.ink;
  c.fillRect(box.x - m.line / 2, box.y - m.line, box.width + m.line, beam);
  c.fillRect(box.x - m.line / 2, box.y - m.line, m.line, box.height / 2);
  c.fillRect(box.x + box.width - m.line / 2, box.y - m.line, m.line, box.height / 2);
}

/** Frame and corner cross of a quarantined node. */
export function drawNodeQuarantined(c: Context, box: Box, m: Metrics, palette: Palette): void {
  const line = Math.max(2 * m.line, Math.round(m.scale));
  c.strokeStyle = palette.crit;
  c.lineWidth = line;
  c.strokeRect(box.x, box.y, box.width, box.height);
  c.beginPath();
  c.moveTo(box.x, box.y);
  c.lineTo(box.x + box.width, box.y + box.height);
  c.moveTo(box.x + box.width, box.y);
  c.lineTo(box.x, box.y + box.height);
  c.stroke();
}
