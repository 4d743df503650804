import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestNode } from "#devnet/testing/test-node.ts";
import { prepareWorkspace } from "#devnet/workspace/prepare-workspace.ts";
import { readParameters } from "#devnet/workspace/node-parameters.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { runStandIn } from "../pushgateway/running-stand-in.ts";

async function startGateway() {
  const { port, readMetrics } = await runStandIn();
  const value = async (sample: string) => {
    const line = (await readMetrics()).find((candidate) => candidate.startsWith(`${sample} `));
    return line === undefined ? undefined : Number(line.slice(sample.length));
  };
  return { port, value };
}

function target(pushPort: number) {
  return { jobName: "eu/node-1", pushAddress: "127.0.0.1", pushPort, pushIntervalSeconds: 1 };
}

const height = 'gatehouse_devnet_block_height{instance="",job="eu/node-1"}';

test("pushes the node's metrics at every interval", async () => {
  const gateway = await startGateway();
  await using node = await createTestNode({ version: "0.15.0", monitor: target(gateway.port) });
  await node.run("ops", "start", "--config", "./node.conf");
  const heightAbove = async (least: number) => {
    const value = (await gateway.value(height)) ?? 0;
    return value > least ? value : undefined;
  };
  const first = await until("a height is pushed", generousMs, () => heightAbove(0));
  await until("a later height is pushed", generousMs, () => heightAbove(first));
  expect(await gateway.value('gatehouse_devnet_flushed_version{instance="",job="eu/node-1"}')).toBeGreaterThan(100_000);
});

test("pushes and logs nothing if the keys belong to another version", async () => {
  const gateway = await startGateway();
  await using node = await createTestNode({ version: "0.15.0", monitor: target(gateway.port) });
  const { directory, parametersPath, runDirectory, configPath } = node.workspace;
  const parameters = { ...readParameters(parametersPath), version: "0.16.0" };
  const ports = { http: 1, webSocket: 1, rpc: 1, tcp: 1 };
  expect((await prepareWorkspace({ directory, parameters, conf: { hostIp: "", ports } })).configPath).toBe(configPath);
  expect((await node.run("ops", "start", "--config", "./node.conf")).status).toBe(0);
  await node.blocks(15n);
  expect(await gateway.value(height)).toBeUndefined();
  const log = await readFile(join(runDirectory, "node.log"), "utf8");
  expect(log).not.toMatch(/push|metrics|monitor/i);
});
