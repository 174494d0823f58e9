// A return address never leaves the console.
import { expect, it } from "vitest";
import { isLocal } from "./next";

it.each(["/", "/jobs?status=running", "/map#x"])("%s is followed", (next) => expect(isLocal(next)).toBe(true));
it.each(["//evil.invalid", "/\\evil.invalid", "https://evil.invalid", "javascript:alert(1)", "", undefined, 3, "/sign-in"])("%s is not", (next) => expect(isLocal(next)).toBe(false));
