// The live canvas: holds camera, hover and focus, and draws when something of them or of the data changed.
import {
  cameraAt, clampCamera, homeCamera, isHome, nodeAtAnchor, panBy, reveal, wholeCamera, zoomAt, type Camera, type Size,
} from "../pure/camera";
import { hitTest, neighbour, type Direction, type Hit } from "../pure/hit";
import { layoutMap, tilesByNode, type Layout, type Tile } from "../pure/layout";
import { kindOf, powerScaleW, type MapMode } from "../pure/levels";
import type { MapGroup, MapNode } from "../pure/model";
import { drawChanged, drawMap } from "../draw/drawMap";
import { drawMiniNodes, miniFrame, type MiniFrame } from "../draw/minimap";
import { drawOverlay } from "../draw/overlay";
import { readPalette, type Palette } from "../draw/palette";
import type { Scene, SceneWords } from "../draw/scene";

export interface StageCanvases {
  readonly base: HTMLCanvasElement;
  readonly overlay: HTMLCanvasElement;
  readonly mini: HTMLCanvasElement;
}

export interface Selection {
  readonly nodeId: number;
  readonly deviceIndex: number | null;
}

export interface StageInput {
  readonly groups: readonly MapGroup[];
  readonly nodes: readonly MapNode[];
  readonly mode: MapMode;
  /** Ids of the lit nodes; null while nothing is filtered. */
  readonly lit: ReadonlySet<number> | null;
  readonly holders: ReadonlyMap<string, number>;
  readonly selected: Selection | null;
  readonly words: SceneWords;
  /** Space the layout is made for. */
  readonly room: Size;
}

export interface StageView {
  readonly zoom: number | null;
  readonly nodeId: number | null;
}

export interface StageEvents {
  readonly onHover: (hit: Hit | null, x: number, y: number) => void;
  readonly onFocus: (node: MapNode | null) => void;
  readonly onFrame: (frame: MiniFrame) => void;
  /** The view came to rest; both null at home. */
  readonly onView: (view: StageView) => void;
}

/** What has to be drawn again, each with all before it: marks, some tiles, the view over the same tiles, everything. */
const DIRT = ["none", "overlay", "changed", "moved", "all"] as const;
type Dirt = (typeof DIRT)[number];
const REST_MS = 250;
/** From the corner of the canvas to the tile that the keyboard takes first, in px. */
const FIRST_TILE_PX = 32;

export class MapStage {
  private input: StageInput | null = null;
  private layout: Layout = { blocks: [], width: 1, height: 1, home: 1 };
  private tiles: ReadonlyMap<number, Tile> = new Map();
  private palette: Palette = readPalette();
  private powerScale = 100;
  private camera: Camera = { x: 0, y: 0, zoom: 1 };
  private size: Size = { width: 1, height: 1 };
  private ratio = 1;
  private hovered: Hit | null = null;
  private focused: number | null = null;
  /** Where the keyboard left the map; it comes back there. */
  private lastFocused: number | null = null;
  private isFollowing = true;
  private dirty: Dirt = "none";
  private changed: MapNode[] = [];
  private frame: number | null = null;
  private rest: ReturnType<typeof setTimeout> | null = null;

  constructor(private readonly canvases: StageCanvases, private readonly events: StageEvents) {}

  stop(): void {
    if (this.frame !== null) cancelAnimationFrame(this.frame);
    if (this.rest !== null) clearTimeout(this.rest);
    this.frame = this.rest = null;
  }

  /** Take new data or another way of showing it. */
  show(next: StageInput): void {
    const before = this.input;
    this.input = next;
    const isRelaid = before === null || !sameRoom(before.room, next.room) || !sameShape(before.groups, next.groups);
    if (isRelaid || before.groups !== next.groups) this.layOut(next, before);
    this.powerScale = powerScaleW(next.nodes);
    const isRedrawn = isRelaid || before.mode !== next.mode || !sameIds(before.lit, next.lit) || !samePlaces(before.holders, next.holders) || before.words !== next.words;
    if (isRedrawn || next.mode === "power") this.invalidate("all");
    else if (before.nodes !== next.nodes) this.takeChanges(before, next);
    this.invalidate("overlay");
  }

  private layOut(next: StageInput, before: StageInput | null): void {
    const wasHome = before === null || isHome(this.camera, this.layout);
    const kept = next.selected?.nodeId ?? nodeAtAnchor(this.tiles, this.camera, this.size);
    const from = kept === null ? undefined : this.tiles.get(kept);
    this.layout = layoutMap(next.groups, next.room.width, next.room.height);
    this.tiles = tilesByNode(this.layout);
    const to = kept === null ? undefined : this.tiles.get(kept);
    if (wasHome && this.isFollowing) this.camera = homeCamera(this.layout);
    // What one looks at stays where it was, wherever its tile stands now.
    else if (from && to) this.camera = { ...this.camera, x: this.camera.x + to.x - from.x, y: this.camera.y + to.y - from.y };
  }

  private takeChanges(before: StageInput, next: StageInput): void {
    const known = new Set(before.nodes);
    this.changed.push(...next.nodes.filter((node) => !known.has(node)));
    if (this.changed.length === 0) return;
    const isLevelMode = kindOf(next.mode) === "levels";
    // Headings repeat their group's figures, and past a share of the tiles a full pass is the cheaper one.
    this.invalidate(isLevelMode && this.changed.length < next.nodes.length / 8 ? "changed" : "all");
  }

  /** Fit the canvases to their element. */
  resize(size: Size, ratio: number): void {
    if (size.width === this.size.width && size.height === this.size.height && ratio === this.ratio) return;
    this.size = size;
    this.ratio = ratio;
    for (const canvas of [this.canvases.base, this.canvases.overlay]) {
      canvas.width = Math.max(1, Math.round(size.width * ratio));
      canvas.height = Math.max(1, Math.round(size.height * ratio));
    }
    this.invalidate("all");
  }

  /** The theme changed. */
  repaint(): void {
    this.palette = readPalette();
    this.invalidate("all");
  }

  /** Go where the address says; nothing means home. */
  goTo(view: StageView): void {
    const tile = view.nodeId === null ? undefined : this.tiles.get(view.nodeId);
    this.isFollowing = view.zoom === null;
    if (view.zoom === null) this.move(homeCamera(this.layout), false);
    else if (tile) this.move(cameraAt(tile, view.zoom, this.size, this.layout), false);
    else this.move(zoomAt(homeCamera(this.layout), view.zoom / this.layout.home, 0, 0), false);
  }

  showWhole(): void {
    this.isFollowing = true;
    this.move(wholeCamera(this.layout, this.size));
  }

  zoomBy(factor: number, x = this.size.width / 2, y = this.size.height / 2): void {
    this.move(clampCamera(zoomAt(this.camera, factor, x, y), this.layout, this.size));
  }

  pan(dx: number, dy: number): void {
    this.move(clampCamera(panBy(this.camera, dx, dy), this.layout, this.size));
  }

  look(change: (layout: Layout, camera: Camera, size: Size) => Camera): void {
    this.move(clampCamera(change(this.layout, this.camera, this.size), this.layout, this.size));
  }

  /** Bring a node into sight without changing the zoom. */
  revealNode(nodeId: number): void {
    const tile = this.tiles.get(nodeId);
    if (!tile) return;
    const next = reveal(this.camera, tile, this.size);
    if (next.x !== this.camera.x || next.y !== this.camera.y) this.move(next);
  }

  hitAt(x: number, y: number): Hit | null {
    return hitTest(this.layout, x / this.camera.zoom + this.camera.x, y / this.camera.zoom + this.camera.y);
  }

  hover(x: number, y: number): void {
    const hit = this.hitAt(x, y);
    if (hit?.node.id !== this.hovered?.node.id) this.invalidate("overlay");
    this.hovered = hit;
    this.events.onHover(hit, x, y);
  }

  leave(): void {
    if (this.hovered !== null) this.invalidate("overlay");
    this.hovered = null;
    this.events.onHover(null, 0, 0);
  }

  focusedNode(): MapNode | null {
    return this.input?.nodes.find((node) => node.id === this.focused) ?? null;
  }

  focus(nodeId: number | null): void {
    this.lastFocused = nodeId ?? this.focused ?? this.lastFocused;
    this.focused = nodeId;
    this.events.onFocus(this.focusedNode());
    if (nodeId !== null) this.revealNode(nodeId);
    this.invalidate("overlay");
  }

  /** Move the keyboard's tile; the first step takes the open or the anchored one. */
  step(direction: Direction): void {
    const from = this.focused === null ? undefined : this.tiles.get(this.focused);
    if (from) this.focus(neighbour(this.tiles, from, direction) ?? this.focused);
    else this.focus(this.input?.selected?.nodeId ?? this.lastFocused ?? this.firstInSight());
  }

  private firstInSight(): number | null {
    const away = FIRST_TILE_PX / this.camera.zoom;
    const corner: Camera = { ...this.camera, x: this.camera.x + away, y: this.camera.y + away };
    return nodeAtAnchor(this.tiles, corner, { width: 0, height: 0 });
  }

  private move(camera: Camera, report = true): void {
    this.camera = camera;
    this.invalidate("moved");
    if (!report) return;
    this.isFollowing = isHome(camera, this.layout);
    if (this.rest !== null) clearTimeout(this.rest);
    this.rest = setTimeout(() => {
      this.rest = null;
      this.events.onView(this.view());
    }, REST_MS);
  }

  private view(): StageView {
    if (isHome(this.camera, this.layout)) return { zoom: null, nodeId: null };
    return { zoom: this.camera.zoom, nodeId: nodeAtAnchor(this.tiles, this.camera, this.size) };
  }

  private invalidate(what: Dirt): void {
    if (DIRT.indexOf(what) > DIRT.indexOf(this.dirty)) this.dirty = what;
    this.frame ??= requestAnimationFrame(() => {
      this.draw();
    });
  }

  private scene(canvas: HTMLCanvasElement): Scene | null {
    const context = canvas.getContext("2d");
    if (!context || !this.input) return null;
    const { mode, lit, holders, words } = this.input;
    return {
      context, mode, lit, holders, words, ratio: this.ratio, camera: this.camera, palette: this.palette,
      width: canvas.width, height: canvas.height, powerScaleW: this.powerScale,
    };
  }

  private draw(): void {
    this.frame = null;
    const what = this.dirty;
    const changed = this.changed;
    this.dirty = "none";
    this.changed = [];
    const base = this.scene(this.canvases.base);
    if (!base) return;
    if (what === "all" || what === "moved") drawMap(base, this.layout);
    if (what === "changed") drawChanged(base, this.layout, changed, this.tiles);
    if (what === "all" || changed.length > 0) this.drawMini();
    else if (what === "moved") this.events.onFrame(miniFrame(this.layout, this.camera, this.size));
    this.drawMarks();
  }

  private drawMarks(): void {
    const scene = this.scene(this.canvases.overlay);
    const selected = this.input?.selected ?? null;
    if (!scene) return;
    const tile = selected === null ? undefined : this.tiles.get(selected.nodeId);
    const node = this.input?.nodes.find((entry) => entry.id === selected?.nodeId);
    const vessel = node?.devices.findIndex((device) => device.index === selected?.deviceIndex) ?? -1;
    drawOverlay(scene, {
      hovered: this.hovered?.tile ?? null,
      focused: this.focused === null ? null : (this.tiles.get(this.focused) ?? null),
      selected: tile ? { tile, vessel: vessel < 0 ? null : vessel } : null,
    });
  }

  private drawMini(): void {
    const context = this.canvases.mini.getContext("2d");
    if (context) drawMiniNodes(context, this.layout, this.palette, this.ratio);
    this.events.onFrame(miniFrame(this.layout, this.camera, this.size));
  }
}

function sameIds(a: ReadonlySet<number> | null, b: ReadonlySet<number> | null): boolean {
  if (a === b) return true;
  return a !== null && b !== null && a.size === b.size && [...a].every((id) => b.has(id));
}

const samePlaces = (a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): boolean =>
  a === b || (a.size === b.size && [...a].every(([name, place]) => b.get(name) === place));

const sameRoom = (a: Size, b: Size): boolean => a.width === b.width && a.height === b.height;

/** True when tiles stand where they stood: same groups with the same nodes and vessels. */
function sameShape(a: readonly MapGroup[], b: readonly MapGroup[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  return a.every((group, i) => {
    const other = b[i];
    if (other?.key !== group.key || other.nodes.length !== group.nodes.length) return false;
    return group.nodes.every((node, n) => {
      const twin = other.nodes[n];
      return twin?.id === node.id && twin.devices.length === node.devices.length;
    });
  });
}
