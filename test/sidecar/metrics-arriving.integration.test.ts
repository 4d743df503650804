import { readFile, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { isOnPath, startRealPushgateway } from "#devnet/pushgateway/real-pushgateway.ts";
import { runUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { startDevnetWorkspace } from "../support/node/devnet-workspace.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";

const program = "prometheus-pushgateway";
const entryExists = await isOnPath(program);
const skipped = entryExists ? "" : ` (skipped: ${program} is not on PATH)`;

/** Gives a node.conf the monitor_config of a version before v0.16.0. */
async function monitorAsBefore(configPath: string, pushPort: number): Promise<void> {
  const config = JSON.parse(await readFile(configPath, "utf8")) as { chain: Record<string, unknown> };
  config.chain["monitor_config"] = {
    enable_pamir_cetina: true,
    pamir_cetina_job_name: "node-7",
    pamir_cetina_push_address: "127.0.0.1",
    pamir_cetina_push_interval: 1,
    pamir_cetina_push_port: pushPort,
  };
  await writeFile(configPath, JSON.stringify(config));
}

describe.skipIf(!entryExists)(`with a real Prometheus Pushgateway${skipped}`, () => {
  test("reports metrics as missing while the node is running with a different version's keys, and as arriving once the keys are correct", async () => {
    const [pushPort = 0] = await findFreePorts(1);
    await using gateway = await startRealPushgateway({
      program,
      host: "127.0.0.1",
      port: pushPort,
      persistenceFile: undefined,
    });
    await using node = await startDevnetWorkspace("0.16.2");
    await monitorAsBefore(node.configPath, pushPort);
    await node.restart();
    await using upkeep = await runUpkeep(node, {
      GATEHOUSE_SIDECAR_PUSHGATEWAY_URL: gateway.url,
      GATEHOUSE_SIDECAR_RESTART_DRIVER: "none",
    });
    await upkeep.reason("ConfigReconciled", "Reconciled");
    const missingReason = await upkeep.reason("MetricsArriving", "Missing");
    expect(missingReason).toMatchObject({
      status: "False",
      message: expect.stringContaining('no group for job "node-7"'),
    });
    await node.restart();
    const fresh = await upkeep.reason("MetricsArriving", "Fresh");
    expect(fresh).toMatchObject({
      status: "True",
      message: expect.stringMatching(/^Job "node-7" was pushed \d s ago/),
    });
    expect(await (await fetch(`${gateway.url}/metrics`)).text()).toContain(
      'gatehouse_devnet_block_height{instance="",job="node-7"}',
    );
  });
});
