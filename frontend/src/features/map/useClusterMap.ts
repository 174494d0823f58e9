// The map document: read on hints, at most once per pause, decoded so that unchanged nodes stay the same objects.
import { useQuery, useQueryClient, type QueryFunction, type UseQueryResult } from "@tanstack/react-query";
import { useState } from "react";
import { mapQuery } from "@/api/queries";
import type { ClusterMap as MapAnswer } from "@/api/types";
import { decodeMap } from "./pure/decode";
import { gated } from "@/api/gate";
import type { ClusterMap } from "./pure/model";

/** A change shows within a second where the server answers quickly; one that is slow is asked less often. */
const PAUSE = { leastMs: 250, times: 1.5, mostMs: 1_500 } as const;

function keptDecoder(): (answer: MapAnswer) => ClusterMap {
  let previous: ClusterMap | undefined;
  return (answer) => (previous = decodeMap(answer, previous));
}

export function useClusterMap(): UseQueryResult<ClusterMap> {
  const client = useQueryClient();
  const [select] = useState(keptDecoder);
  const [queryFn] = useState(() => {
    const { queryKey } = mapQuery;
    const read = mapQuery.queryFn as QueryFunction<MapAnswer, typeof queryKey>;
    // A hint cancels the read in flight; under steady hints none would ever end, so reads run to their end and deliver.
    const readOnce = (): Promise<MapAnswer> =>
      Promise.resolve(read({ client, queryKey, signal: new AbortController().signal, meta: undefined }));
    return gated(readOnce, (answer) => { client.setQueryData(queryKey, answer); }, PAUSE);
  });
  return useQuery({ queryKey: mapQuery.queryKey, queryFn, select, structuralSharing: false });
}
