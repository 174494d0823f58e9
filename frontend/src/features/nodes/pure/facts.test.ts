// Facts come as text or objects; both are shown, none is guessed.
import { describe, expect, it } from "vitest";
import { evidenceLines, lineOf, readMount } from "./facts";

describe("facts", () => {
  it("reads a mount and keeps an unknown size unknown", () => {
    expect(readMount({ path: "/data", source: "nas:/data", fs_type: "nfs4", total_mib: null }))
      .toEqual({ path: "/data", source: "nas:/data", fsType: "nfs4", totalMib: null });
    expect(readMount("/data").path).toBe("/data");
  });

  it.each([[{ name: "docker", version: "27.1" }, "docker 27.1"], [{ name: "podman", version: null }, "podman"], ["img:1", "img:1"], [{ a: 1 }, '{"a":1}']])(
    "writes %j as one line", (value, line) => { expect(lineOf(value)).toBe(line); },
  );

  it("splits evidence into lines", () => {
    expect(evidenceLines("a\n\nb")).toEqual(["a", "b"]);
    expect(evidenceLines({ xid: 63, volatile: { from: 0 } })).toEqual(["xid: 63", 'volatile: {"from":0}']);
    expect([evidenceLines(null), evidenceLines("")]).toEqual([[], []]);
  });
});
