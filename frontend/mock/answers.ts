// One invented cluster: what each endpoint answers.

export interface Answer { status: number; body: unknown }

export function answer(_method: string, url: URL, _body: unknown): Answer {
  return { status: 404, body: { code: "not-found", detail: url.pathname, status: 404 } };
}
