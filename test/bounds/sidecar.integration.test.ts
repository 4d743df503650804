import { createServer } from "node:http";
import { once } from "node:events";
import { expect, it } from "vitest";
import { makeSharedDirectory } from "#daemon/testing/test-directory.ts";
import { createFakeNode } from "#sidecar/testing/fake-node.ts";
import { runUpgradeCommand } from "#sidecar/upkeep/control/upgrade-command.ts";
import { captureOutput } from "#daemon/testing/captured-output.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { startExampleService } from "./example-service.ts";

type Status = Readonly<{ conditions: readonly Readonly<{ type: string; reason: string; message: string }>[] }>;

const folder = makeSharedDirectory();

/**
 * Starts a sidecar whose monotonic clock runs five times as fast, beside a node of release 0.15.0, and waits until neither changes any
 * more.
 */
async function startSettled() {
  await using resources = new AsyncDisposableStack();
  const node = resources.use(await createFakeNode());
  await node.install("0.15.0");
  await node.start();
  const env = {
    GATEHOUSE_SIDECAR_NODE_WORKSPACE: node.workspace,
    GATEHOUSE_SIDECAR_NODE_HTTP_URL: node.httpUrl,
    GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: folder,
    GATEHOUSE_SIDECAR_UPKEEP_MODE: "enforce",
    GATEHOUSE_SIDECAR_LISTEN_PORT: "0",
    GATEHOUSE_SIDECAR_GATEWAY_PUBLIC_PORT: "0",
    GATEHOUSE_SIDECAR_HEALTH_WEB_SOCKET: "false",
    GATEHOUSE_SIDECAR_HEALTH_INTERVAL_MS: "50",
    GATEHOUSE_SIDECAR_RESTART_DRIVER: "ops",
    GATEHOUSE_SIDECAR_RESTART_BUDGET_PER_HOUR: "60",
    // Each attempt waits for the port to close, and for a response in case someone else has started the node.
    GATEHOUSE_SIDECAR_RESTART_TIMEOUT_MS: "5000",
    GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: "15000",
    GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: "15000",
  };
  const service = resources.use(await startExampleService("sidecar", env, { accelerated: { monotonic: 5 } }));
  const reason = async (type: string, expected: string) =>
    until(`${type} is ${expected}`, generousMs, async () => {
      const { conditions } = (await (await fetch(`${service.urls["sidecar"]}/status`)).json()) as Status;
      return conditions.some((one) => one.type === type && one.reason === expected);
    });
  await reason("Pruning", "Enabled");
  await reason("ConfigReconciled", "Reconciled");
  await reason("NoRestartPending", "NoRestart");
  const owned = resources.move();
  return { node, service, reason, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

it("limits the rollback attempts of an upgrade", async () => {
  await using settled = await startSettled();
  const { node, service, reason } = settled;
  const { output, printed } = captureOutput();
  const source = await node.release("0.16.2", "good");
  const asked = { source, version: undefined, at: undefined, dryRun: false, yes: true, confirm: undefined };
  const upgrading = runUpgradeCommand({ kind: "socket", stateDirectories: [folder] }, asked, output);
  // Another process takes the node's port when the upgrade stops the node: neither version can start.
  const thief = createServer((_, response) => response.destroy());
  await until("the node's port is free", generousMs, async () => {
    thief.listen(Number(new URL(node.httpUrl).port), "127.0.0.1");
    const [error] = (await Promise.race([once(thief, "listening"), once(thief, "error")])) as [Error | undefined];
    return error === undefined;
  });
  const exit = await upgrading;
  thief.close();
  expect([exit, printed().printed]).toEqual([
    1,
    expect.stringContaining("failed, and so did the rollback, while stopping the node for the rollback"),
  ]);
  await reason("UpgradeVerified", "RollbackFailed");
  await reason("NotPaused", "Paused");
  // Each rollback attempt fails in its first step.
  const stages = [...service.output().matchAll(/"upgrade-stage".*?"stage":"(back-[\w-]+)"/g)].map(([, stage]) => stage);
  expect(stages).toEqual(["back-discarding", "back-restarting", "back-stopping", "back-stopping"]);
  expect((await fetch(`${service.urls["sidecar"]}/`)).status).toBe(200);
  service.expectWell();
});
