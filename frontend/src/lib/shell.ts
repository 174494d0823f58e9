// Splitting a command line into words as a POSIX shell would, without running or expanding anything.

export type Words = { words: string[] } | { error: "unclosed-quote" | "trailing-backslash" };

const SPACE = /\s/;

export function splitWords(line: string): Words {
  const words: string[] = [];
  let word: string | null = null;
  for (let i = 0; i < line.length; i += 1) {
    const char = line[i] as string;
    if (SPACE.test(char)) {
      if (word !== null) words.push(word);
      word = null;
    } else if (char === "'" || char === '"') {
      const quoted = readQuoted(line, i);
      if (quoted === null) return { error: "unclosed-quote" };
      word = (word ?? "") + quoted.text;
      i = quoted.end;
    } else if (char === "\\") {
      if (i + 1 >= line.length) return { error: "trailing-backslash" };
      i += 1;
      // A backslash before a line end joins the lines.
      if (line[i] !== "\n") word = (word ?? "") + (line[i] as string);
    } else {
      word = (word ?? "") + char;
    }
  }
  if (word !== null) words.push(word);
  return { words };
}

function readQuoted(line: string, start: number): { text: string; end: number } | null {
  const quote = line[start];
  let text = "";
  for (let i = start + 1; i < line.length; i += 1) {
    const char = line[i] as string;
    if (char === quote) return { text, end: i };
    const next = line[i + 1];
    if (quote === '"' && char === "\\" && next !== undefined && '"\\$`\n'.includes(next)) {
      text += next === "\n" ? "" : next;
      i += 1;
    } else {
      text += char;
    }
  }
  return null;
}

/** The words as one line that splits into the same words again. */
export function joinWords(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");
}
