// What the whole console shares: cached answers, the live link, who is signed in.
import { QueryCache, QueryClient, useQuery } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { type LinkState, LiveLink } from "@/api/live";
import { Problem } from "@/api/problem";
import { isSignedOut, meQuery } from "@/api/session";

type Listener = () => void;
let onSignedOut: Listener = () => undefined;

/** The router says what to do when the session is over. */
export function whenSignedOut(listener: Listener): void {
  onSignedOut = listener;
}

export const queries = new QueryClient({
  queryCache: new QueryCache({ onError: (error) => { if (isSignedOut(error)) onSignedOut(); } }),
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (failures, error) => failures < 2 && !(error instanceof Problem && error.status >= 400 && error.status < 500),
      retryDelay: (failures) => 500 * 2 ** failures,
    },
    mutations: { retry: false, onError: (error) => { if (isSignedOut(error)) onSignedOut(); } },
  },
});

export const link = new LiveLink(queries);

export function useLink(): LinkState {
  return useSyncExternalStore(link.subscribe, link.current);
}

/** Whether the signed-in person may do something; false while that is not known. */
export function useMay(action: string): boolean {
  const { data } = useQuery(meQuery);
  return data?.permissions.some((permission) => permission === action) ?? false;
}
