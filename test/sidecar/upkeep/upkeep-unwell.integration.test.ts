import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { expect, test } from "vitest";
import { createFakeNode, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { blockTimeMs } from "#sidecar/testing/fake-node-programs.ts";
import { runUpkeep, type RunningUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { answersRpc, serveNode } from "#sidecar/testing/watched-node.ts";
import { readUntil } from "#daemon/testing/until.ts";

const quick = {
  GATEHOUSE_SIDECAR_LAG_RESTART_AFTER_MS: "300",
  GATEHOUSE_SIDECAR_LAG_INTERVAL_MS: "100",
  GATEHOUSE_SIDECAR_HEALTH_STALE_AFTER_MS: "1000",
  GATEHOUSE_SIDECAR_UPKEEP_REREAD_INTERVAL_MS: "100",
};
const allowed = { ...quick, GATEHOUSE_SIDECAR_LAG_RESTART: "true" };

/** A node that runs and was restarted with its corrected configuration. */
async function settled(
  node: FakeNode,
  environment: Readonly<Record<string, string>>,
  options: Readonly<{ stateDirectory?: string }> = {},
): Promise<RunningUpkeep> {
  await node.start();
  const upkeep = await runUpkeep(node, environment, options);
  await readUntil(node.starts, (starts) => starts === 2);
  return upkeep;
}

/** Waits until the node has made blocks for so long that it is known for it. */
async function steady(upkeep: RunningUpkeep): Promise<void> {
  const height = async () => Number(/^gatehouse_node_height_blocks (\d+)/m.exec(await upkeep.metrics.metrics())?.[1]);
  const before = await height();
  await readUntil(height, (now) => now >= before + 30);
}

/** Waits until some more passes were made. */
async function passes(upkeep: RunningUpkeep, count: number): Promise<void> {
  const made = async () => Number(/^gatehouse_reconciles_total (\d+)/m.exec(await upkeep.metrics.metrics())?.[1]);
  const before = await made();
  await readUntil(made, (now) => now >= before + count);
}

/** An endpoint of the same chain that is always far ahead. */
async function aheadReference() {
  const server = createServer((_, response) => {
    const result = `0x${(Math.floor(Date.now() / blockTimeMs) + 1_000_000).toString(16)}`;
    response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, result }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, [Symbol.asyncDispose]: close };
}

test("a node that stalls is restarted if that is allowed, and the reason is reported", async () => {
  await using node = await createFakeNode();
  await using upkeep = await settled(node, allowed);
  await upkeep.reason("NoRestartPending", "NoRestart");
  await steady(upkeep);
  await node.stall();
  await readUntil(node.starts, (starts) => starts === 3);
  await upkeep.reason("HeightAdvancing", "Advancing");
  await upkeep.reason("NoRestartPending", "NoRestart");
  expect(upkeep.events.list().map(({ message }) => message)).toContainEqual(
    expect.stringMatching(
      /^Restarting the node \(ops\): the node has been unwell for \d+ s: NoNewBlock \(Blocks came steadily and come no more: height has been \d+ for more than 1 s, since /,
    ),
  );
  expect(await upkeep.metrics.metrics()).toContain('gatehouse_node_restarts_total{cause="unwell"} 1');
});

test("a node that stalls is only reported if a restart is not allowed", async () => {
  await using node = await createFakeNode();
  await using upkeep = await settled(node, quick);
  await upkeep.reason("NoRestartPending", "NoRestart");
  await steady(upkeep);
  await node.stall();
  await upkeep.reason("HeightAdvancing", "NoNewBlock");
  await passes(upkeep, 10);
  expect(upkeep.board.get("NoRestartPending")?.reason).toBe("NoRestart");
  expect(await node.starts()).toBe(2);
});

test("a node that lags the references whatever is done is restarted within the budget, and then no more", async () => {
  await using node = await createFakeNode();
  await using reference = await aheadReference();
  await using upkeep = await settled(node, {
    ...allowed,
    GATEHOUSE_SIDECAR_LAG_REFERENCES: reference.url,
    GATEHOUSE_SIDECAR_RESTART_BUDGET_PER_HOUR: "3",
  });
  const { message } = await upkeep.reason("NoRestartPending", "BudgetExhausted", 20_000);
  expect(message).toMatch(
    /^A restart is pending \(the node has been unwell for \d+ s: Behind \(The node is at \d+, \d+ blocks behind the references \(allowed: 50\); look at its peers and its disk\.\)\); it begins at \d{4}-\S+Z, because 2 restarts within the last hour have used up restart\.budgetPerHour\. Look at the events for what they were for; to have it now, restart the node by hand\.$/,
  );
  await passes(upkeep, 10);
  // One of the three is kept for a roll-back; the first start was by hand.
  expect(await node.starts()).toBe(3);
});

test("a node that catches up with its references is left to it, and restarted once it stands still", async () => {
  await using node = await createFakeNode();
  // As a node with old data sees it: the references are far ahead, and it advances faster than they do.
  const height = `0x${(Math.floor(Date.now() / blockTimeMs) + 1_000_000).toString(16)}`;
  await using reference = await serveNode(answersRpc({ eth_blockNumber: () => height }));
  await using upkeep = await settled(node, {
    ...allowed,
    GATEHOUSE_SIDECAR_LAG_RESTART_AFTER_MS: "1000",
    GATEHOUSE_SIDECAR_LAG_REFERENCES: reference.url,
  });
  await upkeep.reason("NodeSynced", "Behind");
  const lag = async () => Number(/^gatehouse_node_lag_blocks (\d+)/m.exec(await upkeep.metrics.metrics())?.[1]);
  const before = await lag();
  await readUntil(lag, (now) => now < before - 80);
  expect(await node.starts()).toBe(2);
  expect(upkeep.board.get("NoRestartPending")?.message).toBe("No restart is pending.");
  await node.stall();
  await readUntil(node.starts, (starts) => starts === 3);
});

test("a node that was started by hand and replays its log is left to it, and until when is reported", async () => {
  await using node = await createFakeNode();
  await using upkeep = await settled(node, {
    ...allowed,
    GATEHOUSE_SIDECAR_LAG_RESTART_AFTER_MS: "1000",
    GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: "60000",
  });
  await upkeep.reason("NoRestartPending", "NoRestart");
  await node.opensAfter(3_000);
  await node.stop();
  const started = node.start();
  const message = await readUntil(
    () => upkeep.board.get("NoRestartPending")?.message ?? "",
    (text) => text.startsWith("No restart is pending: "),
  );
  expect(message).toMatch(
    /^No restart is pending: the node has not answered since it started, and may take until 20\d\d-\S+Z \(restart\.answersWithinMs\)\.$/,
  );
  await started;
  await upkeep.reason("HeightAdvancing", "Advancing");
  await passes(upkeep, 5);
  expect(await node.starts()).toBe(3);
  expect(upkeep.board.get("NoRestartPending")?.message).toBe("No restart is pending.");
});

test("a node whose process has ended is not taken for one that starts", async () => {
  await using node = await createFakeNode();
  await using upkeep = await settled(node, { ...allowed, GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: "600000" });
  await upkeep.reason("NoRestartPending", "NoRestart");
  await upkeep.reason("RpcResponding", "Responding");
  await passes(upkeep, 2);
  await node.stop();
  await readUntil(node.starts, (starts) => starts === 3);
  await upkeep.reason("NoRestartPending", "NoRestart");
  expect(upkeep.events.list().map(({ message }) => message)).toContainEqual(
    expect.stringMatching(/^Restarting the node \(ops\): the node has been unwell for \d+ s: ConnectionRefused \(/),
  );
});

test("a node whose process has ended is started again without lag.restart, also where the sidecar was down meanwhile", async () => {
  await using node = await createFakeNode();
  const stateDirectory = await mkdtemp(join(tmpdir(), "gatehouse-state-"));
  try {
    {
      await using upkeep = await settled(node, quick, { stateDirectory });
      await upkeep.reason("NoRestartPending", "NoRestart");
      await upkeep.reason("DataIntact", "Intact");
      await node.kill();
      await readUntil(node.starts, (starts) => starts === 3);
      await upkeep.reason("NoRestartPending", "NoRestart");
      await upkeep.reason("DataIntact", "Intact");
    }
    await node.kill();
    await using upkeep = await runUpkeep(
      node,
      { ...quick, GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2" },
      { stateDirectory },
    );
    await readUntil(node.starts, (starts) => starts === 4);
    await upkeep.reason("NoRestartPending", "NoRestart");
  } finally {
    await rm(stateDirectory, { recursive: true });
  }
});

test("a process that ended while its restart was verified, by a sidecar that was killed, is started again at once", async () => {
  await using node = await createFakeNode();
  await node.start();
  const stateDirectory = await mkdtemp(join(tmpdir(), "gatehouse-state-"));
  try {
    // It answers only once the first sidecar is gone.
    await node.opensAfter(3_000);
    const environment = {
      GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
      GATEHOUSE_SIDECAR_OPS_START: JSON.stringify([
        "sh",
        "-c",
        `./ops start --config ./${basename(node.configPath)} & sleep 1`,
      ]),
      GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: "900000",
      GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: "500",
    };
    {
      await using upkeep = await runUpkeep(node, environment, { stateDirectory });
      await readUntil(
        () => upkeep.state.restartInFlight.get()?.phase,
        (phase) => phase === "verifying",
      );
    }
    await node.kill();
    await node.opensAfter(0);
    await using upkeep = await runUpkeep(node, environment, { stateDirectory });
    await readUntil(node.starts, (starts) => starts === 3);
    expect((await upkeep.reason("NotPaused", "Paused")).message).toContain("its process ended");
  } finally {
    await rm(stateDirectory, { recursive: true });
  }
});

test("a node whose process can't be seen is restarted when it has not answered for longer than a start may take", async () => {
  await using node = await createFakeNode();
  await using upkeep = await settled(node, {
    ...allowed,
    GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
    GATEHOUSE_SIDECAR_NODE_CLI_RUNNER: "none",
    GATEHOUSE_SIDECAR_RESTART_DRIVER: "compose",
    GATEHOUSE_SIDECAR_COMPOSE_COMMAND: JSON.stringify([
      "sh",
      "-c",
      `./ops stop --force; exec ./ops start --config ./${basename(node.configPath)}`,
    ]),
    GATEHOUSE_SIDECAR_COMPOSE_DIRECTORY: dirname(node.programs.ops),
    GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: "2000",
  });
  await upkeep.reason("NoRestartPending", "NoRestart");
  const stoppedMs = Date.now();
  await node.stop();
  await readUntil(node.starts, (starts) => starts === 3);
  expect(Date.now() - stoppedMs).toBeGreaterThanOrEqual(2_000);
  await upkeep.reason("NoRestartPending", "NoRestart");
});
