// The canvas of the map with its minimap: passes pointer and keys to the stage, shows what the pointer is over.
import { forwardRef, useEffect, useImperativeHandle, useLayoutEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Hit, Direction } from "../pure/hit";
import type { MapDevice, MapNode } from "../pure/model";
import { MINI, cameraFromMini, type MiniFrame } from "../draw/minimap";
import { MapStage, type StageInput, type StageView } from "./MapStage";
import { MapTip } from "./MapTip";
import { nodeSentence } from "./sentences";

export interface MapCanvasHandle {
  readonly zoomBy: (factor: number) => void;
  readonly showWhole: () => void;
  readonly takeFocus: () => void;
}

interface MapCanvasProps {
  readonly input: StageInput;
  readonly view: StageView;
  readonly onView: (view: StageView) => void;
  readonly onOpen: (node: MapNode, device: MapDevice | null, byKey: boolean) => void;
  readonly onClear: () => void;
}

const ARROWS: Record<string, Direction> = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down" };
const PAN_PX = 60;
const CLICK_SLACK_PX = 4;

interface Hovered {
  readonly hit: Hit;
  readonly x: number;
  readonly y: number;
}

export const MapCanvas = forwardRef<MapCanvasHandle, MapCanvasProps>(function MapCanvas(props, handle) {
  const { t } = useTranslation();
  const wrap = useRef<HTMLDivElement>(null);
  const base = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const mini = useRef<HTMLCanvasElement>(null);
  const [hovered, setHovered] = useState<Hovered | null>(null);
  const [focused, setFocused] = useState<MapNode | null>(null);
  const [frame, setFrame] = useState<MiniFrame | null>(null);
  const stage = useStage({ base, overlay, mini, wrap }, { setHovered, setFocused, setFrame, onView: props.onView });

  useLayoutEffect(() => {
    stage.current?.show(props.input);
  }, [stage, props.input]);
  useFollowView(stage, props.view, props.input.nodes.length > 0);
  useImperativeHandle(handle, () => ({
    zoomBy: (factor) => stage.current?.zoomBy(factor),
    showWhole: () => stage.current?.showWhole(),
    takeFocus: () => base.current?.focus(),
  }), [stage]);
  usePointer(base, stage, props.onOpen);
  const onKeyDown = useKeys(stage, props);
  const { nodes } = props.input;
  const devices = nodes.reduce((sum, node) => sum + node.devices.length, 0);
  return (
    <div className="mapwrap" ref={wrap}>
      <canvas
        ref={base} className="big" tabIndex={0} role="application" onKeyDown={onKeyDown}
        onBlur={() => stage.current?.focus(null)} aria-label={t("map.canvasLabel", { nodes: t("map.nodes", { count: nodes.length, nodes: nodes.length }), devices: t("map.devices", { count: devices, devices }) })}
      />
      <canvas ref={overlay} className="big overlay" aria-hidden="true" />
      <span className="visually-hidden" aria-live="polite">{focused ? nodeSentence(t, focused) : ""}</span>
      {hovered ? <MapTip hit={hovered.hit} x={hovered.x} y={hovered.y} /> : null}
      <MiniMap canvas={mini} frame={frame} stage={stage} />
    </div>
  );
});

type StageRef = React.RefObject<MapStage | null>;

interface Elements {
  readonly base: React.RefObject<HTMLCanvasElement | null>;
  readonly overlay: React.RefObject<HTMLCanvasElement | null>;
  readonly mini: React.RefObject<HTMLCanvasElement | null>;
  readonly wrap: React.RefObject<HTMLDivElement | null>;
}

interface Sinks {
  readonly setHovered: (hovered: Hovered | null) => void;
  readonly setFocused: (node: MapNode | null) => void;
  readonly setFrame: (frame: MiniFrame) => void;
  readonly onView: (view: StageView) => void;
}

function useStage({ base, overlay, mini, wrap }: Elements, sinks: Sinks): StageRef {
  const stage = useRef<MapStage | null>(null);
  const onView = useRef(sinks.onView);
  useEffect(() => {
    onView.current = sinks.onView;
  });
  const { setHovered, setFocused, setFrame } = sinks;
  useLayoutEffect(() => {
    const [b, o, m, w] = [base.current, overlay.current, mini.current, wrap.current];
    if (!b || !o || !m || !w) return undefined;
    const next = new MapStage({ base: b, overlay: o, mini: m }, {
      onHover: (hit, x, y) => { setHovered(hit ? { hit, x, y } : null); },
      onFocus: setFocused,
      onFrame: setFrame,
      onView: (view) => { onView.current(view); },
    });
    stage.current = next;
    const measure = (): void => { next.resize({ width: w.clientWidth, height: w.clientHeight }, window.devicePixelRatio || 1); };
    measure();
    const sizes = new ResizeObserver(measure);
    sizes.observe(w);
    const theme = new MutationObserver(() => { next.repaint(); });
    theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    return () => {
      sizes.disconnect();
      theme.disconnect();
      next.stop();
      stage.current = null;
    };
  }, [base, overlay, mini, wrap, setHovered, setFocused, setFrame]);
  return stage;
}

/** The address leads: on arrival, on back and on links; not when the view itself wrote it. */
function useFollowView(stage: StageRef, view: StageView, hasNodes: boolean): void {
  useLayoutEffect(() => {
    if (hasNodes) stage.current?.goTo({ zoom: view.zoom, nodeId: view.nodeId });
  }, [stage, view.zoom, view.nodeId, hasNodes]);
}

function usePointer(base: Elements["base"], stage: StageRef, onOpen: MapCanvasProps["onOpen"]): void {
  const open = useRef(onOpen);
  useEffect(() => {
    open.current = onOpen;
  });
  useEffect(() => {
    const canvas = base.current;
    if (!canvas) return undefined;
    let drag: { x: number; y: number; moved: number } | null = null;
    const down = (event: PointerEvent): void => {
      if (event.button !== 0) return;
      drag = { x: event.clientX, y: event.clientY, moved: 0 };
      canvas.setPointerCapture(event.pointerId);
    };
    const move = (event: PointerEvent): void => {
      if (!drag) {
        stage.current?.hover(event.offsetX, event.offsetY);
        return;
      }
      const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
      const moved = drag.moved + Math.abs(dx) + Math.abs(dy);
      drag = { x: event.clientX, y: event.clientY, moved };
      if (moved < CLICK_SLACK_PX) return;
      stage.current?.leave();
      stage.current?.pan(-dx, -dy);
    };
    const up = (event: PointerEvent): void => {
      const wasClick = drag !== null && drag.moved < CLICK_SLACK_PX;
      drag = null;
      const hit = wasClick ? stage.current?.hitAt(event.offsetX, event.offsetY) : null;
      if (hit) open.current(hit.node, hit.vessel === null ? null : (hit.node.devices[hit.vessel] ?? null), false);
    };
    const wheel = (event: WheelEvent): void => {
      event.preventDefault();
      stage.current?.zoomBy(event.deltaY < 0 ? 1.18 : 1 / 1.18, event.offsetX, event.offsetY);
    };
    const leave = (): void => { stage.current?.leave(); };
    const listening = new AbortController();
    const { signal } = listening;
    canvas.addEventListener("pointerdown", down, { signal });
    canvas.addEventListener("pointermove", move, { signal });
    canvas.addEventListener("pointerup", up, { signal });
    canvas.addEventListener("pointercancel", () => { drag = null; }, { signal });
    canvas.addEventListener("pointerleave", leave, { signal });
    canvas.addEventListener("wheel", wheel, { passive: false, signal });
    return () => { listening.abort(); };
  }, [base, stage]);
}

/** Arrows move the focused tile, with Shift the view; + - 0 zoom; Enter opens the node, a digit its device. */
function useKeys(stage: StageRef, { onOpen, onClear }: MapCanvasProps): (event: React.KeyboardEvent) => void {
  return (event) => {
    const at = stage.current;
    if (!at || event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = ARROWS[event.key];
    const focused = at.focusedNode();
    if (arrow && event.shiftKey) at.pan(...panFor(arrow));
    else if (arrow) at.step(arrow);
    else if (event.key === "+" || event.key === "=") at.zoomBy(1.4);
    else if (event.key === "-") at.zoomBy(1 / 1.4);
    else if (event.key === "Home") at.showWhole();
    else if (event.key === "Enter" && focused) onOpen(focused, null, true);
    else if (/^\d$/.test(event.key) && focused) openDigit(focused, Number(event.key), onOpen);
    else if (event.key === "Escape") onClear();
    else return;
    event.preventDefault();
  };
}

function panFor(direction: Direction): [number, number] {
  return { left: [-PAN_PX, 0], right: [PAN_PX, 0], up: [0, -PAN_PX], down: [0, PAN_PX] }[direction] as [number, number];
}

function openDigit(node: MapNode, index: number, onOpen: MapCanvasProps["onOpen"]): void {
  const device = node.devices.find((entry) => entry.index === index);
  if (device) onOpen(node, device, true);
}

interface MiniMapProps {
  readonly canvas: React.RefObject<HTMLCanvasElement | null>;
  readonly frame: MiniFrame | null;
  readonly stage: StageRef;
}

function MiniMap({ canvas, frame, stage }: MiniMapProps) {
  const ratio = window.devicePixelRatio || 1;
  const lead = (event: React.PointerEvent<HTMLElement>): void => {
    if (event.buttons === 0) return;
    const box = event.currentTarget.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    stage.current?.look((layout, camera, size) => cameraFromMini(layout, camera, size, x, y));
  };
  return (
    <div className="float mini" aria-hidden="true">
      <div style={{ position: "relative", overflow: "hidden", ...frame?.box }} onPointerDown={lead} onPointerMove={lead}>
        <canvas ref={canvas} width={MINI.width * ratio} height={MINI.height * ratio} style={{ width: MINI.width, height: MINI.height, display: "block" }} />
        {frame ? <i className="frame" style={{ left: frame.left, top: frame.top, width: frame.width, height: frame.height }} /> : null}
      </div>
    </div>
  );
}
