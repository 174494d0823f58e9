// The client sends what the server wants and turns every failure into a Problem.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { api, body, csrfToken } from "./client";
import { asProblem, Problem, problemFromBody } from "./problem";

let answer: Response | Error;
let sent: Request[];

beforeEach(() => {
  sent = [];
  vi.stubGlobal("document", { documentElement: { lang: "zh-CN" }, cookie: "a=b; headrace_csrf=abc%3D" });
  // Node asks for whole addresses where a browser completes them.
  const Whole = class extends Request {
    constructor(input: RequestInfo | URL, init?: RequestInit) {
      super(typeof input === "string" ? new URL(input, "http://console.invalid") : input, init);
    }
  };
  vi.stubGlobal("Request", Whole);
  vi.stubGlobal("fetch", (request: Request) => {
    sent.push(request);
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  });
});
afterEach(() => vi.unstubAllGlobals());

const json = (status: number, content: unknown) => new Response(JSON.stringify(content), { status, headers: { "Content-Type": "application/problem+json" } });

describe("client", () => {
  it("says the reader's language and sends the CSRF token with writes only", async () => {
    answer = json(200, []);
    await body(api.GET("/api/v1/queues", { Request }));
    answer = json(200, { id: 1 });
    await body(api.POST("/api/v1/jobs/{job_id}/cancel", { Request, params: { path: { job_id: 1 } } }));
    expect(sent.map((request) => request.headers.get("X-CSRFToken"))).toEqual([null, "abc="]);
    expect(sent[0]?.headers.get("Accept-Language")).toBe("zh-CN");
    expect(sent[1]?.url).toBe("http://console.invalid/api/v1/jobs/1/cancel");
  });

  it("throws the server's problem with its fields", async () => {
    answer = json(400, { code: "invalid", detail: "Not valid.", errors: [{ field: "resources.cores", code: "min", message: "too few" }] });
    const problem = await body(api.GET("/api/v1/queues", { Request })).catch((error: unknown) => error);
    expect(problem).toBeInstanceOf(Problem);
    expect((problem as Problem).fieldMessage("resources.cores")).toBe("too few");
  });

  it("tells a dead server from a refusing one", async () => {
    answer = new TypeError("fetch failed");
    const problem = await body(api.GET("/api/v1/queues", { Request })).catch((error: unknown) => error);
    expect(asProblem(problem).code).toBe("unreachable");
  });
});

it("reads a page that is no JSON as a problem", () => expect(problemFromBody(502, "<html>").code).toBe("http-502"));
it("finds no token where there is no cookie", () => expect(csrfToken("")).toBe(""));
