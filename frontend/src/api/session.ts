// Signing in and out through the session endpoints, and who is signed in.
import { queryOptions } from "@tanstack/react-query";
import { api, body, commonHeaders } from "./client";
import { keys } from "./keys";
import { Problem, UNREACHABLE } from "./problem";

const LOGIN = "/_allauth/browser/v1/auth/login";
const SESSION = "/_allauth/browser/v1/auth/session";

export const meQuery = queryOptions({
  queryKey: keys.me,
  queryFn: ({ signal }) => body(api.GET("/api/v1/me", { signal })),
  staleTime: 60_000,
  retry: (failures, error) => !isSignedOut(error) && failures < 2,
});

export function isSignedOut(error: unknown): boolean {
  return error instanceof Problem && (error.status === 401 || error.code === "not-authenticated" || error.code === "not_authenticated");
}

interface SessionAnswer { errors?: { code: string; message: string }[]; data?: { flows?: { id: string; is_pending?: boolean }[] } }

async function send(method: string, path: string, json?: object): Promise<{ status: number; answer: SessionAnswer }> {
  try {
    const headers = { ...commonHeaders(method), "Content-Type": "application/json" };
    const response = await fetch(path, { method, headers, credentials: "same-origin", body: json && JSON.stringify(json) });
    return { status: response.status, answer: (await response.json().catch(() => ({}))) as SessionAnswer };
  } catch (error) {
    throw new Problem({ status: 0, code: UNREACHABLE, detail: String(error) });
  }
}

/** Opens a session. Throws a Problem whose code says why not: wrong-password, too-many-attempts, second-factor, ... */
export async function signIn(username: string, password: string): Promise<void> {
  // The answer to this request carries the CSRF cookie, signed in or not.
  await api.GET("/api/v1/me").catch(() => undefined);
  const { status, answer } = await send("POST", LOGIN, { username, password });
  if (status === 200 || status === 409) return;
  throw new Problem({ status, code: signInFailure(status, answer), detail: answer.errors?.[0]?.message ?? "" });
}

function signInFailure(status: number, answer: SessionAnswer): string {
  const code = answer.errors?.[0]?.code ?? "";
  if (status === 429 || code === "too_many_login_attempts") return "too-many-attempts";
  if (status === 401 && answer.data?.flows?.some((flow) => flow.is_pending)) return "second-factor";
  if (status === 400 || status === 401) return "wrong-password";
  return status >= 500 ? "server-error" : `http-${status}`;
}

/** Ends the session; the server answers 401 because nobody is signed in any more. */
export async function signOut(): Promise<void> {
  const { status } = await send("DELETE", SESSION);
  if (status >= 500) throw new Problem({ status, code: "server-error", detail: "" });
}
