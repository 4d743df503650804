import { join } from "node:path";
import { expect, test } from "vitest";
import { createFakeNode } from "#sidecar/testing/fake-node.ts";
import { startPodServer } from "#sidecar/testing/pod-server.ts";
import { openUpkeepState } from "#sidecar/upkeep/state/upkeep-state.ts";
import { runUpkeep } from "#sidecar/testing/run-upkeep.ts";

/**
 * Returns the next sidecar's requests to the cluster and its reports, after the previous one was killed by the pod restart that it had
 * requested.
 */
async function observeAfterRestartOf(instanceId: string) {
  await using node = await createFakeNode();
  await node.install("0.15.0");
  await node.start();
  await using server = await startPodServer();
  const environment = {
    GATEHOUSE_SIDECAR_NODE_CLI_RUNNER: "none",
    GATEHOUSE_SIDECAR_NODE_VERSION: "0.15.0",
    GATEHOUSE_SIDECAR_RESTART_DRIVER: "kubernetes",
    GATEHOUSE_SIDECAR_KUBERNETES_POD: "node-0",
    GATEHOUSE_SIDECAR_KUBERNETES_API_URL: server.apiUrl,
    GATEHOUSE_SIDECAR_KUBERNETES_SERVICE_ACCOUNT_DIRECTORY: server.directory,
  };
  {
    await using upkeep = await runUpkeep(node, environment);
    await upkeep.reason("NoRestartPending", "NoRestart");
  }
  {
    // This is the state of a sidecar that was killed during the restart.
    using left = openUpkeepState(join(node.workspace, "state"));
    const asked = { reason: "a test", beganMs: Date.now(), phase: "commanded", isFinishing: false } as const;
    left.restartInFlight.set({ ...asked, incarnation: instanceId });
  }
  server.requests.length = 0;
  await using upkeep = await runUpkeep(node, environment);
  await expect.poll(() => upkeep.state.restartInFlight.get()).toBeUndefined();
  await upkeep.reason("NoRestartPending", "NoRestart");
  const deletions = server.requests.filter((request) => request.startsWith("DELETE"));
  return { deletions, said: upkeep.messages() };
}

test("verifies the new pod after deleting the pod that it ran in, without deleting the new one", async () => {
  const { deletions, said } = await observeAfterRestartOf("the pod before");
  expect(deletions).toEqual([]);
  expect(said).toContainEqual(expect.stringMatching(/^The node recovered and advances/));
});

test("deletes its pod if an earlier sidecar was killed before doing so", async () => {
  const { deletions, said } = await observeAfterRestartOf("1");
  expect(deletions).toHaveLength(1);
  expect(said).toContain("Restarting the node (kubernetes): a restart was interrupted: a test.");
});
