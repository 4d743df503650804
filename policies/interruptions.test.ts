import { describe, expect, it } from "vitest";
import { interruptionsOf } from "./interruptions.ts";

const urn = (type: string, name: string) => `urn:pulumi:dev::gatehouse::gatehouse:index:Node$${type}::${name}`;
const container = urn("docker:index/container:Container", "gh-node");
const volume = urn("docker:index/volume:Volume", "gh-node-workspace");

describe("interruptionsOf", () => {
  it("calls out a node that is replaced, and why", () => {
    const steps = [{ op: "replace", urn: container, replaceReasons: ["image"] }];
    expect(interruptionsOf({ steps })).toEqual([{ urn: container, effect: "interrupts the node", because: ["image"] }]);
  });

  it("calls out chain data and ledgers that would be dropped", () => {
    const claim = urn("kubernetes:core/v1:PersistentVolumeClaim", "gh-facilitator-ledger");
    const steps = [
      { op: "delete", urn: volume },
      { op: "delete-replaced", urn: claim },
    ];
    expect(interruptionsOf({ steps }).map(({ effect }) => effect)).toEqual([
      "drops chain data or a ledger",
      "drops chain data or a ledger",
    ]);
  });

  it("is silent about updates, other services and volumes of files", () => {
    const steps = [
      { op: "update", urn: container },
      { op: "replace", urn: urn("docker:index/container:Container", "gh-sidecar") },
      { op: "replace", urn: urn("docker:index/volume:Volume", "gh-node-files") },
      { op: "replace", urn: urn("docker:index/volume:Volume", "gh-postgres-files") },
      { op: "create", urn: volume },
    ];
    expect(interruptionsOf({ steps })).toEqual([]);
  });

  it.each([{}, { steps: "none" }, 7, undefined])("refuses %j", (preview) => {
    expect(() => interruptionsOf(preview)).toThrow(/no list of steps/);
  });
});
