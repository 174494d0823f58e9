// The server's time, so that ages of its receipts do not depend on this machine's clock.
import { useQueryClient } from "@tanstack/react-query";
import { overviewQuery } from "@/api/queries";
import { useNow } from "@/lib/useNow";

/** Now by the server's clock: the local clock moved by the offset seen with the last overview. */
export function useServerNow(): number {
  const now = useNow();
  const state = useQueryClient().getQueryState(overviewQuery.queryKey);
  if (!state?.data) return now;
  return now + new Date(state.data.at).getTime() - state.dataUpdatedAt;
}
