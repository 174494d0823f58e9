// A job's spans and waits add up, before, while and after it runs.
import { describe, expect, it } from "vitest";
import type { Job } from "@/api/types";
import { span, waits } from "./facts";

const T0 = Date.parse("2026-03-01T10:00:00Z");
const at = (s: number) => new Date(T0 + s * 1000).toISOString();
const job = (change: Partial<Job>) => ({ submitted_at: at(0), started_at: null, finished_at: null, status: "pending", waits_ms: { held: 0, pending: 0, image_pull: 0, start: 0 }, ...change }) as Job;

describe("span", () => {
  it("of a pending job is its wait", () => expect(span(job({}), T0 + 5000)).toBe(5000));
  it("of a running job is its run", () => expect(span(job({ status: "running", started_at: at(2) }), T0 + 5000)).toBe(3000));
  it("of a finished job stands still", () => expect(span(job({ status: "failed", started_at: at(2), finished_at: at(9) }), T0 + 99_000)).toBe(7000));
  it("of a job cancelled before its start is not known", () => expect(span(job({ status: "cancelled", finished_at: at(9) }), T0)).toBeNull());
});

describe("waits", () => {
  it("give the running time to what the job does now", () => {
    const list = waits(job({ status: "pending", waits_ms: { held: 1000, pending: 0, image_pull: 0, start: 0 } }), T0 + 5000);
    expect(list.map((wait) => wait.ms)).toEqual([1000, 4000, null, null]);
  });
  it("leave steps that are still to come open", () => {
    const list = waits(job({ status: "pending", waits_ms: { held: 0, pending: 0, image_pull: 0, start: 0 } }), T0 + 5000);
    expect(list.map((wait) => wait.ms)).toEqual([0, 5000, null, null]);
  });
  it("stay as stored once the job runs", () => {
    const list = waits(job({ status: "running", waits_ms: { held: 0, pending: 10, image_pull: 0, start: 20 } }), T0 + 5000);
    expect(list.map((wait) => wait.ms)).toEqual([0, 10, 0, 20]);
  });
});
