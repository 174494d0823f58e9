import { describe, expect, it } from "vitest";
import { readLabels, writeLabels } from "./labels";

describe("labels", () => {
  it("come back as they were", () => {
    const labels = { rack: "r-07", "example.com/owner": "infra", note: "a=b", empty: "" };
    expect(readLabels(writeLabels(labels))).toEqual({ labels, wrong: null });
  });

  it("names the line that is none, or is there twice", () => {
    expect(readLabels("rack=1\n\nbroken").wrong).toBe("broken");
    expect(readLabels("-x=1").wrong).toBe("-x=1");
    expect(readLabels("a=1\na=2").wrong).toBe("a=2");
  });
});
