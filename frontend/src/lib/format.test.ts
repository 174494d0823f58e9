// Figures are written as the design says: units after a narrow no-break space, two units for spans, GiB or exact MiB.
import { describe, expect, it } from "vitest";
import * as f from "./format";

const plain = (text: string) => text.replaceAll(f.NB, " ");

describe("figures", () => {
  it.each([[0, "0"], [1206, "1,206"], [1234567, "1,234,567"], [-1048, "−1,048"], [-0.2, "0"]])("counts %d", (value, text) => {
    expect(f.count(value)).toBe(text);
  });
  it("puts a narrow no-break space before the per cent sign", () => {
    expect(f.percent(83.34)).toBe("83.3\u202f%");
    expect(f.percent(0, 0)).toBe("0\u202f%");
  });
  it.each([[512, "512 MiB"], [1024, "1 GiB"], [40960, "40 GiB"], [1536, "1.5 GiB"], [13654, "13.3 GiB"], [1048576, "1,024 GiB"], [980_000_000, "934.6 TiB"]])("memory of %d MiB", (mib, text) => {
    expect(plain(f.memory(mib))).toBe(text);
  });
  it("keeps a booking exact", () => expect(plain(f.exactMemory(13654))).toBe("13,654 MiB"));
  it.each([[350, "350 W"], [12400, "12.4 kW"], [1_310_000, "1.31 MW"]])("power of %d W", (watts, text) => {
    expect(plain(f.power(watts))).toBe(text);
  });
  it("writes cores", () => {
    expect(f.cores(8000)).toBe("8");
    expect(f.cores(800)).toBe("0.8");
  });
  it("writes scores and terms", () => {
    expect(f.score(729_000)).toBe("0.729");
    expect(f.scoreDecimals([769_000, 769_000, null, 700_000])).toBe(3);
    expect(f.score(769_031, f.scoreDecimals([769_031, 769_000]))).toBe("0.769031");
    expect(f.fraction(322_000)).toBe(".32");
    expect(f.fraction(-120_000)).toBe("−.12");
  });
});

describe("spans", () => {
  it.each([
    [0, "0 ms"], [212, "212 ms"], [3000, "3 s"], [1500, "1.5 s"], [38_000, "38 s"], [130_000, "2 min 10 s"], [120_000, "2 min"],
    [31 * 60_000, "31 min"], [125 * 60_000, "2 h 05"], [47 * 3_600_000, "47 h 00"], [76 * 3_600_000, "3 d 04 h"],
  ])("%d ms", (ms, text) => expect(plain(f.duration(ms))).toBe(text));
  it.each([[38_000, "38 s"], [240_000, "4 min"], [3_600_000, "1 h"], [5_400_000, "1.5 h"], [43_200_000, "12 h"], [259_200_000, "3 d"]])("%d ms in one unit", (ms, text) => {
    expect(plain(f.shortDuration(ms))).toBe(text);
  });
  it("never shows a negative age", () => expect(plain(f.age("2026-01-01T00:00:10Z", Date.parse("2026-01-01T00:00:00Z")))).toBe("0 s"));
});

describe("sentences", () => {
  it("get narrow spaces before units only", () => expect(f.typeset("80 GiB is 4 x 20 GiB, 3 short")).toBe(`80${f.NB}GiB is 4 x 20${f.NB}GiB, 3 short`));
  it("leave words that begin like a unit alone", () => expect(f.typeset("5 seconds, 3 hosts")).toBe("5 seconds, 3 hosts"));
  it("part thousands of figures, not of names", () => expect(f.typeset("13654 MiB and 8000 cores on node-2024, job 12345; 9000 核")).toBe(`13,654${f.NB}MiB and 8,000 cores on node-2024, job 12345; 9,000 核`));
});

describe("lists", () => {
  it("joins CPUs to ranges", () => {
    expect(f.cpuRanges([3, 0, 1, 2, 8])).toBe("0–3, 8");
    expect(f.cpuRanges([])).toBe("");
  });
  it("writes pieces as count × size", () => {
    expect(f.pieces([20480, 20480, 20480, 20480])).toBe("4 × 20");
    expect(f.pieces([20480, 10240])).toBe("1 × 20 + 1 × 10");
  });
});
