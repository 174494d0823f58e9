// Nodes without an agent: the ways to them over SSH, and the server's keys.
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, body } from "./client";
import { keys } from "./keys";
import { nextCursor } from "./queries";
import type { HostKey, RemoteHost, SshKey } from "./types";

const LIMIT = 100;

export interface NewRemoteHost { address: string; port: number; user: string; key: string; host_key: string; node_set?: string }

export const remoteHostsQuery = infiniteQueryOptions({
  queryKey: keys.remoteHosts,
  queryFn: ({ signal, pageParam }) => body(api.GET("/api/v1/remote-hosts", { signal, params: { query: { limit: LIMIT, cursor: pageParam } } })),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: nextCursor,
});

export const sshKeysQuery = queryOptions({
  queryKey: keys.sshKeys,
  queryFn: async ({ signal }) => (await body(api.GET("/api/v1/ssh-keys", { signal }))).results,
});

export function makeSshKey(name: string): Promise<SshKey> {
  return body(api.POST("/api/v1/ssh-keys", { body: { name } }));
}

/** The host key that is shown there now; nothing is kept. */
export function scanHostKey(address: string, port: number): Promise<HostKey> {
  return body(api.POST("/api/v1/remote-hosts/scan", { body: { address, port } }));
}

export function addRemoteHost(wish: NewRemoteHost): Promise<RemoteHost> {
  return body(api.POST("/api/v1/remote-hosts", { body: wish }));
}

export function confirmHostKey(id: number, hostKey: string): Promise<RemoteHost> {
  return body(api.PUT("/api/v1/remote-hosts/{host_id}/host-key", { params: { path: { host_id: id } }, body: { host_key: hostKey } }));
}

/** Whether images are fetched there ahead of demand, the one thing that changes something on the node. */
export function letFetchImages(id: number, fetches: boolean): Promise<RemoteHost> {
  return body(api.PATCH("/api/v1/remote-hosts/{host_id}", { params: { path: { host_id: id } }, body: { fetches_images: fetches } }));
}

export async function removeRemoteHost(id: number): Promise<void> {
  await api.DELETE("/api/v1/remote-hosts/{host_id}", { params: { path: { host_id: id } } });
}
