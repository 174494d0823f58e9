// The address holds the view and gives it back.
import { describe, expect, it } from "vitest";
import { decodeMap } from "./decode";
import { aDevice, aDocument, aMap, aNode } from "./fixture";
import { DEFAULT_VIEW, deviceKey, findDevice, findNode, nodeKey, parseView, viewSearch } from "./viewState";

const search = (entries: Record<string, string>): string => new URLSearchParams(entries).toString();

describe("address", () => {
  it("leaves the defaults out", () => expect(viewSearch(DEFAULT_VIEW)).toEqual({}));

  it("comes back as it was", () => {
    const view = {
      mode: "temperature", by: "model", spot: "suspect", find: "a100", z: 4.2, at: "tb-007", device: "ta-041.3", node: null, table: true, span: "7d",
      charts: "table",
    } as const;
    expect(parseView(search(viewSearch(view)))).toEqual(view);
  });

  it("falls back where it is not understood", () => {
    expect(parseView("mode=colour&spot=angry&z=far&by=shelf")).toEqual(DEFAULT_VIEW);
    expect(parseView("z=-3").z).toBeNull();
    expect(parseView("z=4.2").z).toBe(4.2);
  });

  it("reads quoted numbers as text", () => expect(parseView("device=%2212.10%22").device).toBe("12.10"));
});

describe("names", () => {
  const map = aMap([{ set: "gpu.lab", model: "A100", nodes: 2, devices: 8 }]);

  it("finds a device by node name and index, with dots in the name", () => {
    expect(findDevice(map, "gpu.lab-2.3")).toMatchObject({ node: { id: 2 }, device: { index: 3 } });
  });

  it("finds a slice, and names it as it is found", () => {
    const slice = aDevice({ id: 9, index: 1 });
    const node = aNode({ id: 1, name: "n.1", devices: [aDevice({ index: 0, slices: [slice] })] });
    const sliced = { ...map, nodes: [node], byId: new Map([[1, node]]) };
    expect(deviceKey(sliced, node, slice)).toBe("n.1.0/1");
    expect(findDevice(sliced, "n.1.0/1")?.device).toBe(slice);
    expect(findDevice(sliced, "n.1.0/7")).toBeNull();
  });

  it("finds a node by name or by id", () => {
    expect(findNode(map, "gpu.lab-1")?.id).toBe(1);
    expect(findNode(map, "2")?.id).toBe(2);
  });

  it("answers null for what is not there", () => {
    expect([findDevice(map, "gpu.lab-2.9"), findDevice(map, "3"), findDevice(map, null), findNode(map, "x")]).toEqual([null, null, null, null]);
  });

  it("uses the id where two nodes share a name", () => {
    const document = aDocument([{ set: "a", model: "A100", nodes: 2, devices: 1 }]);
    (document.nodes[1] as unknown[])[1] = "a-1";
    const twins = decodeMap(document);
    expect(twins.nodes.map((node) => nodeKey(twins, node))).toEqual(["id:1", "id:2"]);
    expect(findNode(twins, "id:2")?.id).toBe(2);
  });
});
