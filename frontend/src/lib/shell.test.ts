// A command line and its words are the same thing.
import { describe, expect, it } from "vitest";
import { joinWords, splitWords } from "./shell";

const words = (line: string) => {
  const found = splitWords(line);
  return "words" in found ? found.words : found.error;
};

describe("splitting", () => {
  it.each<[string, string[] | string]>([
    ["python3  train.py --lr 0.1", ["python3", "train.py", "--lr", "0.1"]],
    [`sh -c 'echo "a b"; exit 3'`, ["sh", "-c", 'echo "a b"; exit 3']],
    [String.raw`a\ b "c\"d" e"f"g ''`, ["a b", 'c"d', "efg", ""]],
    ["one \\\n two", ["one", "two"]],
    [`echo 'open`, "unclosed-quote"],
    ["echo \\", "trailing-backslash"],
    ["   ", []],
  ])("%s", (line, expected) => expect(words(line)).toEqual(expected));

  it.each([[["python3", "-c", "print('a b')"]], [["", "$HOME", "a\nb", "tab\there", "\\"]], [["单词", "x=1"]]])("joins %j back", (list) => {
    expect(words(joinWords(list))).toEqual(list);
  });
});
