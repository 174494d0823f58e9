// Keys nobody else makes. crypto.randomUUID is missing on pages served over plain HTTP, so it is built here.

export function freshKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
