// The address is the state: what is read from it is what is written to it, and nonsense is left out.
import { describe, expect, it } from "vitest";
import { jobFilters, readJobSearch, toggleStatus } from "./search";

describe("job search", () => {
  it("reads what makes sense", () => {
    expect(readJobSearch({ status: "running,nonsense,pending", queue: "offline", owner: "", other: 1 })).toEqual({ status: "running,pending", queue: "offline" });
    expect(readJobSearch({ status: "nonsense" })).toEqual({});
    expect(readJobSearch({ search: 42 })).toEqual({ search: "42" });
  });
  it("reads back what it wrote", () => {
    const search = toggleStatus(toggleStatus({ queue: "training" }, "running"), "pending");
    expect(readJobSearch({ ...search })).toEqual(search);
  });
  it("toggles", () => expect(toggleStatus(toggleStatus({}, "failed"), "failed")).toEqual({}));
  it("asks the API with repeated statuses", () => {
    expect(jobFilters({ status: "running,pending", owner: "a" })).toEqual({ array: "none", status: ["running", "pending"], owner: "a", limit: 50 });
    expect(jobFilters({})).toEqual({ array: "none", limit: 50 });
    expect(jobFilters({ array: "7" })).toEqual({ array: "7", limit: 50 });
  });
});
