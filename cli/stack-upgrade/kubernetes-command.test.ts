import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { StackUpgradeOptions } from "./begin-upgrade.ts";
import { createStackWorld, type StackWorld } from "./testing/stack-world.ts";
import { createProgramDirectory, removeDirectory, typeInWorld } from "./testing/typed-command.ts";
import { oldImage, type WorldState } from "./testing/world-state.ts";

let directory: string;
let world: StackWorld;

beforeEach(async () => {
  directory = await createProgramDirectory();
  world = createStackWorld("good", "kubernetes");
});

afterEach(() => removeDirectory(directory));

const type = (more: Partial<StackUpgradeOptions> = {}) => typeInWorld(world, directory, more);

function change(more: Partial<WorldState["cluster"]>): void {
  Object.assign(world.state.cluster, more);
}

describe("gatehouse upgrade --stack on Kubernetes", () => {
  it("prints its steps and changes nothing with --dry-run", async () => {
    const { status, printed } = await type({ dryRun: true });
    expect(printed).toBe(
      `prod: from 0.16.2 (node:0.16.2) to 0.17.0 (node:0.17.0).
  1. Scale the StatefulSet node of pay to 0: the node exits within its grace period, the sidecar after it. From here on the gateway is down.
  2. Take a VolumeSnapshot of node-workspace, of 0.00 GiB of data, and wait until it is ready to use.
  3. Set nodeImage node:0.17.0 in the configuration of prod.
  4. Run pulumi up, which scales it to 1 again.
  5. Verify the node for at most 1800000 ms: it reports 0.17.0, exceeds its old height with the same blocks, has its node.conf as desired, and prunes and pushes metrics if it did before.
  6. Once the new version is verified, delete the VolumeSnapshot: after that, there is no rollback to the old data.
  If anything fails before pulumi up: scale it to 1 again. If anything fails later: scale it to 0, set the old image, delete the new version's data, copy the old data and node.conf from the VolumeSnapshot, run pulumi up. Then verify the old version. Blocks that the new version received are fetched again.
`,
    );
    expect([status, world.image(), world.state.begun, world.state.jobs.size]).toEqual([0, oldImage, [], 0]);
  });

  it("rejects --url, which would need a manual port forward", async () => {
    const { printed } = await type({ statusUrl: "http://127.0.0.1:9600" });
    expect(printed).toContain("upgrade: --url is for stacks on Docker");
  });
});

describe("an upgrade on Kubernetes is not started because of", () => {
  it.each<readonly [string, () => void, string]>([
    ["no VolumeSnapshots", () => change({ servesSnapshots: false }), "the cluster has no VolumeSnapshots"],
    [
      "a missing permission",
      () => change({ forbidden: ["persistentvolumeclaims"] }),
      "you may not create persistentvolumeclaims in the namespace pay of production",
    ],
    ["a node scaled to 0", () => world.stopNode(), "the StatefulSet node of pay is scaled to 0"],
    [
      "a pod held by a different upgrade",
      () => change({ pod: { uid: "pod 1", image: oldImage, held: true, deleting: false, ended: undefined } }),
      `kubectl --context production -n pay patch pod node-0 --type=merge '--patch={"metadata":{"finalizers":null}}'`,
    ],
    [
      "a snapshot of a different upgrade",
      () => {
        const object = { metadata: { name: "node-workspace-upgrade-1" } };
        change({ snapshot: { object, task: world.time.begin([]) } });
      },
      "kubectl --context production -n pay delete volumesnapshot node-workspace-upgrade-1",
    ],
  ])("%s", async (_, spoil, words) => {
    spoil();
    const { status, printed } = await type();
    expect(printed).toMatch(/^ {2}problem: /m);
    expect(printed).toContain(words);
    expect(printed).toContain("the upgrade is not possible now, for the reasons above; nothing was changed");
    expect([status, world.state.config["gatehouse:nodeImage"]]).toEqual([1, oldImage]);
    expect(world.state.begun).toEqual([]);
  });
});
