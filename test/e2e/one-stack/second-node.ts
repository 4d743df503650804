import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startDevnetWorkspace, type DevnetWorkspace } from "../../support/node/devnet-workspace.ts";
import { waitForReason } from "#sidecar/testing/sidecar-status.ts";
import { runGatehouse } from "../../support/run-command.ts";
import type { RunningStack } from "../../support/running-stack.ts";
import { startService } from "../../support/service-process.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

/**
 * Follows the README in order, in one directory: first a stack, then the sidecar of an existing node. `testStop` stops the stack in
 * between.
 */
export function testSecondNode(running: () => RunningStack, testStop: () => void): void {
  let production: DevnetWorkspace;
  let before: string;
  beforeAll(async () => {
    production = await startDevnetWorkspace("0.16.2");
    before = await readFile(production.configPath, "utf8");
  });
  afterAll(() => production?.[Symbol.asyncDispose]());

  const environment = () => ({
    GATEHOUSE_SIDECAR_NODE_WORKSPACE: production.workspace,
    GATEHOUSE_SIDECAR_NODE_HTTP_URL: production.httpUrl,
    GATEHOUSE_SIDECAR_NODE_WEB_SOCKET_URL: production.webSocketUrl,
    GATEHOUSE_SIDECAR_LISTEN_PORT: "0",
    GATEHOUSE_SIDECAR_GATEWAY_PUBLIC_PORT: "0",
  });
  // With the old default path, the stack's sidecar keeps its state in the directory in which stack and sidecar are started.
  const state = () => join(running().stateDirectory, "sidecar");
  const startThere = () =>
    runGatehouse(["sidecar"], { ...environment(), GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: state() });

  it("rejects a second sidecar with its state directory while it runs", async () => {
    await until("the stack's node.conf is remembered", generousMs, () =>
      readFile(join(state(), "last-good.conf"), "utf8").then(Boolean, () => false),
    );
    const inUse = await startThere();
    expect(inUse.status).toBe(1);
    expect(inUse.stderr).toContain(`the state in ${state()} is in use: process `);
  });

  testStop();

  it("rejects another node's sidecar with its state after its stop, and leaves the node unchanged", async () => {
    const foreign = await startThere();
    expect(foreign.status).toBe(1);
    expect(foreign.stderr).toContain(
      `the state in ${state()} belongs to another node: ${running().stateDirectory}/node/bin/node.conf`,
    );
    // `gatehouse resume` with that state directory reports that no sidecar is running.
    const resumed = await runGatehouse(["resume", "--state-directory", state()]);
    expect([resumed.status, resumed.stdout]).toEqual([1, ""]);

    await using sidecar = await startService("sidecar", environment(), { cwd: running().stateDirectory });
    await waitForReason(sidecar.urls["sidecar"], "NotPaused", "WaitingForApproval");
    expect(await readFile(production.configPath, "utf8")).toBe(before);
  });
}
