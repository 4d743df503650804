import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createFakeNode, desiredConfig, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { startPodServer } from "#sidecar/testing/pod-server.ts";
import { runUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { readUntil } from "#daemon/testing/until.ts";

const hungAfterMs = 600;
/** Times at which the cluster reports that the node's container started, and restarted. */
const longAgo = "2026-05-01T12:00:00Z";
const later = "2100-01-01T00:00:00Z";

/** A sidecar of a pod whose node responds. */
async function watched(node: FakeNode) {
  await node.start();
  const server = await startPodServer(longAgo, later);
  const upkeep = await runUpkeep(node, {
    GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
    GATEHOUSE_SIDECAR_NODE_CLI_RUNNER: "none",
    GATEHOUSE_SIDECAR_RESTART_DRIVER: "kubernetes",
    GATEHOUSE_SIDECAR_RESTART_HUNG_AFTER_MS: String(hungAfterMs),
    GATEHOUSE_SIDECAR_HEALTH_TIMEOUT_MS: "100",
    GATEHOUSE_SIDECAR_UPKEEP_REREAD_INTERVAL_MS: "100",
    GATEHOUSE_SIDECAR_KUBERNETES_POD: "node-0",
    GATEHOUSE_SIDECAR_KUBERNETES_API_URL: server.apiUrl,
    GATEHOUSE_SIDECAR_KUBERNETES_SERVICE_ACCOUNT_DIRECTORY: server.directory,
  });
  await upkeep.reason("RpcResponding", "Responding");
  await upkeep.reason("NoRestartPending", "NoRestart");
  return {
    upkeep,
    deletions: () => server.requests.filter((request) => request.startsWith("DELETE")).length,
    /** Freezes the node's process: it keeps its port open and never responds. */
    hang: async () => process.kill(Number(await readFile(join(node.workspace, "node.pid"), "utf8")), "SIGSTOP"),
    /** Waits for reconciles until long after the node counts as hung. */
    wellAfter: async () => {
      const silentAt = Date.now();
      await readUntil(
        () => Date.now() - silentAt,
        (ms) => ms > 3 * hungAfterMs,
      );
      await upkeep.passes(3);
    },
    [Symbol.asyncDispose]: async () => {
      await upkeep[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

test("restarts a node that hangs with its port open, once, and reports the reason", async () => {
  await using node = await createFakeNode(desiredConfig);
  await using pod = await watched(node);
  await pod.hang();
  await readUntil(pod.deletions, (count) => count === 1);
  expect(pod.upkeep.messages()).toContainEqual(
    expect.stringMatching(
      /^Restarting the node \(kubernetes\): the node hangs: it has run since 2026-05-01T12:00:00\.000Z and has not responded for \d+ s/,
    ),
  );
  await pod.wellAfter();
  expect(pod.deletions()).toBe(1);
});
