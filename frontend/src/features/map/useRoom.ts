// The room the map is laid out for: what is left beside the rail and an open sheet, so that no tile is cut.
import { useLayoutEffect, useRef, useState, type RefObject } from "react";
import type { Size } from "./pure/camera";

/** Height that the bar above and the legend below the canvas take. */
const BARS_PX = 95;

export function useRoom(): readonly [RefObject<HTMLDivElement | null>, Size] {
  const ref = useRef<HTMLDivElement>(null);
  const [room, setRoom] = useState<Size>({ width: 1364, height: 760 });
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return undefined;
    const measure = (): void => {
      const next = { width: element.clientWidth, height: element.clientHeight - BARS_PX };
      setRoom((known) => (known.width === next.width && known.height === next.height ? known : next));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => { observer.disconnect(); };
  }, []);
  return [ref, room];
}
