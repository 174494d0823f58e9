// Both languages say everything, with the same blanks to fill, and every key the source names exists.
import { describe, expect, it } from "vitest";
import en from "./catalogue.en";
import zh from "./catalogue.zh";
import { flatKeys, type Words } from "./merge";

const sources = import.meta.glob<string>(["../**/*.{ts,tsx}", "!../**/*.test.*"], { query: "?raw", import: "default", eager: true });

function texts(words: Words, prefix = ""): [string, string][] {
  return Object.entries(words).flatMap(([key, value]) =>
    typeof value === "string" ? [[prefix + key, value] as [string, string]] : texts(value, `${prefix}${key}.`),
  );
}

const unique = (keys: string[]) => [...new Set(keys)].sort();
const blanks = (text: string) => unique([...text.matchAll(/\{\{\s*(\w+)/g)].map((found) => found[1] as string).filter((name) => name !== "count"));

describe("catalogue", () => {
  it("has the same keys in both languages", () => expect(unique(flatKeys(zh))).toEqual(unique(flatKeys(en))));

  it("has no empty text", () => {
    for (const [key, text] of [...texts(en), ...texts(zh)]) expect(text.trim(), key).not.toBe("");
  });

  it("fills the same blanks in both languages", () => {
    const english = new Map(texts(en));
    for (const [key, text] of texts(zh)) {
      const other = english.get(key);
      if (other !== undefined) expect(blanks(text), key).toEqual(blanks(other));
    }
  });

  it("is punctuated as Chinese", () => {
    const halfWidth = /[\u4e00-\u9fff][,:;?!]|[,:;?!] ?[\u4e00-\u9fff]/;
    expect(texts(zh).filter(([, text]) => halfWidth.test(text))).toEqual([]);
  });

  it("counts in English by its plural rules", () => {
    const counted = /\{\{\w+\}\} (jobs|nodes|devices|cores|cycles|hours|days|tasks|replicas|alerts|members|links|steps)\b/;
    const unruled = texts(en).filter(([key, text]) => counted.test(text) && !/_(one|other)$/.test(key)).map(([key]) => key);
    expect(unruled).toEqual([]);
  });

  it("knows every key that the source names", () => {
    const known = new Set([...flatKeys(en)]);
    const missing: string[] = [];
    for (const [file, source] of Object.entries(sources)) {
      for (const found of source.matchAll(/\bt\(\s*"([\w-]+(?:\.[\w-]+)+)"/g)) {
        if (!known.has(found[1] as string)) missing.push(`${file}: ${found[1]}`);
      }
    }
    expect(missing).toEqual([]);
  });
});
