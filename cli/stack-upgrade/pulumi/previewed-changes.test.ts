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

describe("the changes of an update", () => {
  it("include only the node upgrade", () => {
    expect(findUnrelatedChanges(upgrade, prefix)).toBeUndefined();
    expect(isNodeReplaced(upgrade, prefix)).toBe(true);
  });

  it.each([
    ["a different service", step("update", `${prefix}-facilitator`), `${prefix}-facilitator (update)`],
    [
      "the node's data",
      step("delete-replaced", `${prefix}-node-workspace`, "docker:index/volume:Volume"),
      `${prefix}-node-workspace (delete-replaced)`,
    ],
    ["a different stack's node", step("replace", "gatehouse-test-node"), "gatehouse-test-node (replace)"],
  ])("list %s, which a rollback would revert as well", (_, change, named) => {
    expect(findUnrelatedChanges([...upgrade, change], prefix)).toBe(
      `pulumi up would change more than the node: ${named}; run pulumi up for that first`,
    );
  });

  it("list no more than fits in a message", () => {
    const many = Array.from({ length: 20 }, (_, index) => step("create", `other-${index}`));
    expect(findUnrelatedChanges(many, prefix)).toContain("other-7 (create) and 12 more;");
  });

  it("do not include a node that is only read", () => {
    expect(isNodeReplaced([step("same", `${prefix}-node`), step("read", `${prefix}-node`)], prefix)).toBe(false);
  });
});
