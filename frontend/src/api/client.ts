// The one client of the REST API: session cookie, CSRF header, the reader's language, problems as exceptions.
import createClient, { type Middleware } from "openapi-fetch";
import { Problem, UNREACHABLE, problemFromBody } from "./problem";
import type { paths } from "./schema";

const CSRF_COOKIE = "headrace_csrf=";
const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS"]);

export function csrfToken(cookies: string = document.cookie): string {
  const pair = cookies.split("; ").find((part) => part.startsWith(CSRF_COOKIE));
  return pair ? decodeURIComponent(pair.slice(CSRF_COOKIE.length)) : "";
}

export function commonHeaders(method: string): Record<string, string> {
  const headers: Record<string, string> = { Accept: "application/json", "Accept-Language": document.documentElement.lang };
  if (!SAFE_METHODS.has(method)) headers["X-CSRFToken"] = csrfToken();
  return headers;
}

async function readBody(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    return { detail: response.statusText };
  }
}

const manners: Middleware = {
  onRequest({ request }) {
    for (const [name, value] of Object.entries(commonHeaders(request.method))) request.headers.set(name, value);
    return request;
  },
  async onResponse({ response }) {
    if (!response.ok) throw problemFromBody(response.status, await readBody(response));
    return response;
  },
  onError({ error }) {
    if (error instanceof Error && error.name === "AbortError") return error;
    return new Problem({ status: 0, code: UNREACHABLE, detail: error instanceof Error ? error.message : String(error) });
  },
};

// The address is looked up per call, so that a test may put its own fetch in place.
export const api = createClient<paths>({ credentials: "same-origin", fetch: (request) => globalThis.fetch(request) });
api.use(manners);

/** The body of a successful answer; failures were thrown by the client before. */
export async function body<T>(answer: Promise<{ data?: T }>): Promise<T> {
  return (await answer).data as T;
}
