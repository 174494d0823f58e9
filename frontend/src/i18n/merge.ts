// Puts the features' files together: `features/jobs/i18n.en.ts` becomes the keys below `jobs`.

export type Words = { [key: string]: string | Words };

export function merged(files: Record<string, { default: Words }>): Record<string, Words> {
  const entries = Object.entries(files).map(([path, file]) => [featureOf(path), file.default] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => a.localeCompare(b)));
}

function featureOf(path: string): string {
  return path.split("/").at(-2) ?? path;
}

/** Every key with its path, plural forms as one. */
export function flatKeys(words: Words, prefix = ""): string[] {
  return Object.entries(words).flatMap(([key, value]) =>
    typeof value === "string" ? [prefix + key.replace(/_(zero|one|two|few|many|other)$/, "")] : flatKeys(value, `${prefix}${key}.`),
  );
}
