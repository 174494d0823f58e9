// The view in the address and the way to change it.
import { useNavigate, useRouterState } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { parseView, viewSearch, type MapView } from "./pure/viewState";

export type ChangeView = (change: Partial<MapView>, how?: { replace?: boolean }) => void;

export function useMapView(): readonly [MapView, ChangeView] {
  const search = useRouterState({ select: (state) => state.location.searchStr });
  const navigate = useNavigate();
  const view = useMemo(() => parseView(search), [search]);
  const change = useCallback<ChangeView>(
    (part, { replace = false } = {}) => {
      // The router's address, not the rendered one: two changes may come before the next render.
      void navigate({
        to: "/map", replace,
        search: () => viewSearch({ ...parseView(window.location.search), ...part }),
      });
    },
    [navigate],
  );
  return [view, change];
}
