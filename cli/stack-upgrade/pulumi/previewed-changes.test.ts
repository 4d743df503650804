import { describe, expect, it } from "vitest";
import { findUnrelatedChanges, isNodeReplaced } from "./previewed-changes.ts";

const prefix = "gatehouse-prod";
const step = (op: string, name: string, type = "docker:index/container:Container") => ({
  op,
  urn: `urn:pulumi:prod::gatehouse::gatehouse:index:Gatehouse$${type}::${name}`,
});
const upgrade = [
  { op: "update", urn: "urn:pulumi:prod::gatehouse::pulumi:pulumi:Stack::gatehouse-prod" },
  step("replace", "node-image", "docker:index/remoteImage:RemoteImage"),
  step("create-replacement", `${prefix}-node-bin`, "docker:index/volume:Volume"),
  step("delete-replaced", `${prefix}-node-bin`, "docker:index/volume:Volume"),
  step("replace", `${prefix}-node-prime`),
  step("replace", `${prefix}-node-conf`),
  step("replace", `${prefix}-node`),
  step("replace", `${prefix}-sidecar`),
  step("same", `${prefix}-facilitator`),
];

describe("what an update would change", () => {
  it("is the node's upgrade alone", () => {
    expect(findUnrelatedChanges(upgrade, prefix)).toBeUndefined();
    expect(isNodeReplaced(upgrade, prefix)).toBe(true);
  });

  it.each([
    ["another service", step("update", `${prefix}-facilitator`), `${prefix}-facilitator (update)`],
    [
      "the node's data",
      step("delete-replaced", `${prefix}-node-workspace`, "docker:index/volume:Volume"),
      `${prefix}-node-workspace (delete-replaced)`,
    ],
    ["another stack's node", step("replace", "gatehouse-test-node"), "gatehouse-test-node (replace)"],
  ])("names %s, which going back would take back too", (_, change, named) => {
    expect(findUnrelatedChanges([...upgrade, change], prefix)).toBe(
      `pulumi up would change more than the node: ${named}; run pulumi up for that first`,
    );
  });

  it("does not name more than a message can hold", () => {
    const many = Array.from({ length: 20 }, (_, index) => step("create", `other-${index}`));
    expect(findUnrelatedChanges(many, prefix)).toContain("other-7 (create) and 12 more;");
  });

  it("leaves a node alone that is only read", () => {
    expect(isNodeReplaced([step("same", `${prefix}-node`), step("read", `${prefix}-node`)], prefix)).toBe(false);
  });
});
