// The server's time, so that ages of its receipts do not depend on this machine's clock.
import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { overviewQuery } from "@/api/queries";
import { useNow } from "@/lib/useNow";

/** How far the server's clock is ahead of this machine's, as seen with the last overview; 0 before there is one. */
function serverOffsetMs(client: QueryClient): number {
  const state = client.getQueryState(overviewQuery.queryKey);
  return state?.data ? new Date(state.data.at).getTime() - state.dataUpdatedAt : 0;
}

/** Now by the server's clock, when asked. */
export const serverNow = (client: QueryClient): number => Date.now() + serverOffsetMs(client);

/** Now by the server's clock, running on. */
export function useServerNow(): number {
  const now = useNow();
  return now + serverOffsetMs(useQueryClient());
}
