// Raw text of machines made safe to read: control characters and marks that turn the direction of writing are shown, not obeyed.

// eslint-disable-next-line no-control-regex
const ESCAPE = /\u001b\[[0-9;?]*[ -/]*[@-~]/g;
// eslint-disable-next-line no-control-regex
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Colours of a terminal are left out; any other hidden character stands as its code. Line ends and tabs stay. */
export function visible(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .replace(ESCAPE, "")
    .replace(HIDDEN, (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`);
}
