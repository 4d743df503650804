import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { testProfile } from "#sidecar/testing/node-profile.ts";
import { runUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { readUntil } from "#daemon/testing/until.ts";
import { startDevnetWorkspace } from "../support/node/devnet-workspace.ts";

/** Before v0.11, the public family ran only in containers without `ops`. */
const versions = (
  [
    ["0.10.3", "enable_pamir_cetina"],
    ["0.15.0", "enable_pamir_cetina"],
    ["0.16.2", "storage_enable_cetina"],
  ] as const
).filter(([version]) => testProfile !== "pharos" || version !== "0.10.3");

test.each(versions)(
  "configures, prunes and restarts a devnet node of %s through its own ops, and detects its recovery",
  async (version, key) => {
    await using node = await startDevnetWorkspace(version);
    await using upkeep = await runUpkeep(node, {
      ...(testProfile === "pharos" ? { GATEHOUSE_SIDECAR_NODE_VERSION: version } : {}),
      GATEHOUSE_SIDECAR_MONITOR_PUSH_ADDRESS: "127.0.0.1",
      GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: "20000",
      GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: "20000",
      GATEHOUSE_SIDECAR_HEALTH_WEB_SOCKET: "true",
      GATEHOUSE_SIDECAR_NODE_WEB_SOCKET_URL: node.webSocketUrl,
    });
    await readUntil(
      upkeep.messages,
      (messages) => messages.some((message) => message.startsWith("The node recovered and advances after")),
      40_000,
    );
    await upkeep.reason("Pruning", "Enabled");
    await upkeep.reason("ConfigReconciled", "Reconciled");
    await upkeep.reason("WebSocketResponding", "Responding");
    await upkeep.reason("NoRestartPending", "NoRestart");
    expect(upkeep.board.get("VersionConsistent")).toMatchObject({ status: "True" });
    const config = JSON.parse(await readFile(node.configPath, "utf8")) as { chain: { monitor_config: object } };
    expect(config.chain.monitor_config).toMatchObject({ [key]: true });
    expect(upkeep.board.get("NotPaused")?.reason).toBe("NotPaused");
  },
);
