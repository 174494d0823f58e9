// One error shape for whatever went wrong between the console and the server.

export interface FieldError { field: string; code: string; message: string; params?: Record<string, unknown> }

export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly errors: FieldError[];
  readonly params: Record<string, unknown>;

  constructor(facts: { status: number; code: string; detail: string; errors?: FieldError[]; params?: Record<string, unknown> }) {
    super(facts.detail || facts.code);
    this.name = "Problem";
    this.status = facts.status;
    this.code = facts.code;
    this.errors = facts.errors ?? [];
    this.params = facts.params ?? {};
  }

  /** The message for one field of a form; nested fields are named with dots. */
  fieldMessage(field: string): string | undefined {
    return this.errors.find((error) => error.field === field)?.message;
  }
}

export const UNREACHABLE = "unreachable";

export function problemFromBody(status: number, body: unknown): Problem {
  const facts = typeof body === "object" && body !== null ? (body as Record<string, unknown>) : {};
  return new Problem({
    status,
    code: typeof facts.code === "string" ? facts.code : `http-${status}`,
    detail: typeof facts.detail === "string" ? facts.detail : "",
    errors: Array.isArray(facts.errors) ? (facts.errors as FieldError[]) : [],
    params: (facts.params as Record<string, unknown> | undefined) ?? {},
  });
}

export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const detail = error instanceof Error ? error.message : String(error);
  return new Problem({ status: 0, code: UNREACHABLE, detail });
}
