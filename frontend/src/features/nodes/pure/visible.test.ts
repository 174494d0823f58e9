import { describe, expect, it } from "vitest";
import { visible } from "./visible";

describe("visible", () => {
  it("leaves out a terminal's colours", () => expect(visible("\u001b[31mXid 79\u001b[0m")).toBe("Xid 79"));
  it("shows hidden characters by their codes", () => expect(visible("a\u0007b\u202ec\u200bd\u009be")).toBe("a\\u0007b\\u202ec\\u200bd\\u009be"));
  it("keeps lines and tabs", () => expect(visible("a\tb\r\nc")).toBe("a\tb\nc"));
});
