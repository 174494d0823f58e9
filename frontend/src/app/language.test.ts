import { QueryClient } from "@tanstack/react-query";
import { expect, test, vi } from "vitest";
import { setLanguage } from "@/api/actions";
import { changeLanguage } from "@/i18n";
import { chooseLanguage } from "./language";

vi.mock("@/api/actions", () => ({ setLanguage: vi.fn() }));
vi.mock("@/i18n", () => ({ changeLanguage: vi.fn() }));

test.each([["the words", "the account"], ["the account", "the words"]])("nothing is read anew before the page speaks the language: %s last", async (last) => {
  let finish: () => void = () => undefined;
  const late = new Promise<void>((done) => { finish = done; });
  vi.mocked(changeLanguage).mockReturnValue(last === "the words" ? late : Promise.resolve());
  vi.mocked(setLanguage).mockReturnValue(last === "the words" ? Promise.reject(new Error("away")) : late);
  const queries = new QueryClient();
  const anew = vi.spyOn(queries, "invalidateQueries");
  const chosen = chooseLanguage("zh-CN", queries);
  await Promise.resolve();
  expect(anew).not.toHaveBeenCalled();
  finish();
  await chosen;
  expect(anew).toHaveBeenCalledOnce();
});
