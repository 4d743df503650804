import { describe, expect, it } from "vitest";
import { interruptionByUpdate, newPlaceOfConf, removalOf, replacementOf, watchedAs } from "./interruptions.ts";

const inputs = (image: string, replicas = 1) => ({
  spec: { replicas, template: { spec: { containers: [{ name: "node", image }] } } },
});
const statefulSet = "kubernetes:apps/v1:StatefulSet";

describe("what a preview watches over", () => {
  it.each([
    ["docker:index/container:Container", "gh-node", "node"],
    [statefulSet, "gh-node", "node"],
    ["docker:index/volume:Volume", "gh-node-workspace", "data"],
    ["docker:index/volume:Volume", "gh-postgres-data", "data"],
    ["kubernetes:core/v1:PersistentVolumeClaim", "gh-facilitator-ledger", "data"],
    ["kubernetes:core/v1:Namespace", "gh-namespace", "data"],
    ["docker:index/container:Container", "gh-sidecar", undefined],
    ["docker:index/container:Container", "gh-node-conf", undefined],
    ["docker:index/volume:Volume", "gh-node-files", undefined],
    ["docker:index/volume:Volume", "gh-postgres-files", undefined],
    ["gatehouse:index:Node", "gh-node", undefined],
  ] as const)("%s %s: %s", (type, name, what) => {
    expect(watchedAs(type, name)).toBe(what);
  });
});

describe("what it says", () => {
  it("of a replacement: what ends, what is kept, what to do", () => {
    expect(replacementOf("node", "gh-node")).toMatch(
      /^gh-node would be replaced: the node stops.*Its data stay on their volume.*undo that change/,
    );
    expect(replacementOf("data", "gh-node-workspace")).toMatch(
      /^gh-node-workspace would be replaced: .*would be dropped\. .*save the data first/,
    );
  });

  it("of what is in the program no more", () => {
    expect(removalOf("gh-node")).toMatch(/^gh-node would be removed: the node stops and does not come back/);
    expect(removalOf("gh-facilitator-ledger")).toMatch(/^gh-facilitator-ledger would be removed, .* dropped, unless/);
  });

  it("of a StatefulSet whose pod's template changes, with what changes in it", () => {
    const told = (after: unknown) => interruptionByUpdate(statefulSet, "gh-node", { before: inputs("a"), after });
    expect(told(inputs("b"))).toMatch(
      /^gh-node would make its pod anew because of spec\.template\.spec\.containers\[0\]\.image: the node stops/,
    );
    expect(told(inputs("a", 2))).toBeUndefined();
    expect(told({ spec: { template: undefined } })).toContain("because of spec.template:");
  });

  it("nothing of containers that are changed in place", () => {
    const change = { before: { memory: 1 }, after: { memory: 2 } };
    expect(interruptionByUpdate("docker:index/container:Container", "gh-node", change)).toBeUndefined();
  });
});

describe("a stack of a release whose node ran from its volume", () => {
  const node = "gh-node";

  it("is told once, before its node.conf moves, that nothing of it is lost", () => {
    const notice = newPlaceOfConf({ node, deployed: [node], told: undefined });
    expect(notice).toContain("the old one stays where it is and is read no more. Chain data stay in place");
    expect(newPlaceOfConf({ node, deployed: [], told: undefined })).toBeUndefined();
    expect(newPlaceOfConf({ node, deployed: [node], told: "/data/conf/node.conf" })).toBeUndefined();
  });
});
