import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startDevnetWorkspace } from "../support/devnet-workspace.ts";
import { waitForReason } from "../support/owned-node.ts";
import { runGatehouse } from "../support/run-command.ts";
import { startStack } from "../support/running-stack.ts";
import { startService } from "../support/service-process.ts";
import { generousMs, until } from "../support/until.ts";

test("the README read in order, in one folder: the second node is looked at, and nothing of the first one reaches it", async () => {
  await using production = await startDevnetWorkspace("0.16.2");
  const before = await readFile(production.configPath, "utf8");
  await using stack = await startStack();
  // Where the old default had it, the stack's sidecar keeps its state in the folder that both are started in.
  const state = join(stack.stateDirectory, "sidecar");
  await until("the stack's node.conf is remembered", generousMs, () =>
    readFile(join(state, "last-good.conf"), "utf8").then(Boolean, () => false),
  );
  const environment = {
    GATEHOUSE_SIDECAR_NODE_WORKSPACE: production.workspace,
    GATEHOUSE_SIDECAR_NODE_HTTP_URL: production.httpUrl,
    GATEHOUSE_SIDECAR_NODE_WEB_SOCKET_URL: production.webSocketUrl,
    GATEHOUSE_SIDECAR_LISTEN_PORT: "0",
    GATEHOUSE_SIDECAR_GATEWAY_PUBLIC_PORT: "0",
  };
  const inUse = await runGatehouse(["sidecar"], { ...environment, GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: state });
  expect(inUse.status).toBe(1);
  expect(inUse.stderr).toContain(`the state in ${state} is in use: process `);
  await stack.stop();
  const foreign = await runGatehouse(["sidecar"], { ...environment, GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: state });
  expect(foreign.status).toBe(1);
  expect(foreign.stderr).toContain(
    `the state in ${state} belongs to another node: ${stack.stateDirectory}/node/bin/node.conf`,
  );
  // `gatehouse resume`, typed there, says that it reached nobody.
  const resumed = await runGatehouse(["resume", "--state-directory", state]);
  expect([resumed.status, resumed.stdout]).toEqual([1, ""]);

  await using sidecar = await startService("sidecar", environment, { cwd: stack.stateDirectory });
  await waitForReason(sidecar.urls["sidecar"], "Adopted", "WaitingForAdopt");
  expect(await readFile(production.configPath, "utf8")).toBe(before);
}, 120_000);
