import { expect, it } from "vitest";
import { createStackWorld } from "./testing/stack-world.ts";
import { names, newImage } from "./testing/world-state.ts";

type World = ReturnType<typeof createStackWorld>;

const findProblems = async (kind: "docker" | "kubernetes", change: (world: World) => void) => {
  const world = createStackWorld("good", kind);
  change(world);
  return (await world.createPlatform().check(newImage)).problems;
};

it("accepts a running stack", async () => {
  expect(await findProblems("docker", () => undefined)).toEqual([]);
  expect(await findProblems("kubernetes", () => undefined)).toEqual([]);
});

it("says how to create or start a missing or stopped container", async () => {
  expect(await findProblems("docker", ({ state }) => void state.containers.delete(names.node))).toContain(
    `the engine has no container ${names.node}; run pulumi up to create it`,
  );
  expect(await findProblems("docker", ({ stopNode }) => stopNode())).toEqual([
    expect.stringMatching(
      new RegExp(`^${names.node} is not running; run docker (?:--host \\S+ )?start ${names.node}$`),
    ),
  ]);
});

it("says how to see why a cluster's node does not run", async () => {
  const describe = "kubectl --context production -n pay describe";
  expect(await findProblems("kubernetes", ({ state }) => void (state.cluster.pod = undefined))).toEqual([
    `there is no pod node-0; ${describe} statefulset node shows why`,
  ]);
});
