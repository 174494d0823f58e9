// Where signing in may lead back to: addresses of the console itself, nothing else.

export function isLocal(next: unknown): next is string {
  return typeof next === "string" && next.startsWith("/") && !/^\/[/\\]/.test(next) && !next.startsWith("/sign-in");
}
