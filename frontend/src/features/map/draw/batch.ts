// Collects rectangles by layer and colour, so that a pass changes the fill style a few times, not thousands.

export const LAYERS = ["frame", "ground", "track", "booked", "measured", "over"] as const;
export type Layer = (typeof LAYERS)[number];

export class RectBatch {
  private readonly layers: Record<Layer, Map<string, number[]>> = {
    frame: new Map(), ground: new Map(), track: new Map(), booked: new Map(), measured: new Map(), over: new Map(),
  };

  add(layer: Layer, colour: string, x: number, y: number, width: number, height: number): void {
    if (width <= 0 || height <= 0) return;
    const colours = this.layers[layer];
    let rects = colours.get(colour);
    if (!rects) colours.set(colour, (rects = []));
    rects.push(x, y, width, height);
  }

  flush(context: CanvasRenderingContext2D): void {
    for (const layer of LAYERS) {
      for (const [colour, rects] of this.layers[layer]) {
        context.fillStyle = colour;
        for (let i = 0; i < rects.length; i += 4) {
          context.fillRect(rects[i] as number, rects[i + 1] as number, rects[i + 2] as number, rects[i + 3] as number);
        }
      }
      this.layers[layer].clear();
    }
  }
}
