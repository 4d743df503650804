import { basename, dirname } from "node:path";
import { expect, test } from "vitest";
import type { Clock } from "#daemon/clock.ts";
import { createFakeNode, desiredConfig, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { blockTimeMs } from "#sidecar/testing/fake-node-programs.ts";
import { runUpkeep, type RunningUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { respondToRpc, serveNode } from "#sidecar/testing/watched-node.ts";
import { readUntil } from "#daemon/testing/until.ts";

const quick = {
  GATEHOUSE_SIDECAR_LAG_RESTART_AFTER_MS: "300",
  GATEHOUSE_SIDECAR_LAG_INTERVAL_MS: "100",
  GATEHOUSE_SIDECAR_HEALTH_STALE_AFTER_MS: "1000",
  GATEHOUSE_SIDECAR_UPKEEP_REREAD_INTERVAL_MS: "100",
};
const allowed = { ...quick, GATEHOUSE_SIDECAR_LAG_RESTART: "true" };

/** Waits until a sidecar has nothing to correct at a running node. */
async function settled(
  node: FakeNode,
  environment: Readonly<Record<string, string>>,
  options: Readonly<{ clock?: Clock }> = {},
): Promise<RunningUpkeep> {
  await node.start();
  const upkeep = await runUpkeep(node, environment, options);
  await upkeep.reason("NoRestartPending", "NoRestart");
  return upkeep;
}

/**
 * Waits until blocks have arrived steadily, because only such a node is reported as stalled, and a pause on a busy machine resets the
 * count.
 */
async function steady({ health }: RunningUpkeep): Promise<void> {
  await readUntil(health.current, ({ cadence }) => cadence === "steady");
}

/** A clock that a test stops, because on a busy machine the test's own work may exceed a limit under test. */
function createStoppableClock() {
  let lostMs = 0;
  let stoppedAtMs: number | undefined;
  const passedMs = () => (stoppedAtMs ?? performance.now()) - lostMs;
  return {
    wallMs: () => performance.timeOrigin + passedMs(),
    monotonicMs: passedMs,
    whileStopped: async (work: () => Promise<void>) => {
      const startedMs = performance.now();
      stoppedAtMs = startedMs;
      await work();
      lostMs += performance.now() - startedMs;
      stoppedAtMs = undefined;
    },
  };
}

/** Waits until the node is restarted for a fault, and reports it. */
async function waitForRestart(node: FakeNode, upkeep: RunningUpkeep, starts: number, words: RegExp): Promise<void> {
  await readUntil(node.starts, (count) => count === starts);
  await upkeep.reason("HeightAdvancing", "Advancing");
  await upkeep.reason("NoRestartPending", "NoRestart");
  expect(upkeep.messages()).toContainEqual(expect.stringMatching(words));
}

test("restarts a node that stalls or has exited if allowed, and leaves alone a manually started one that replays its log", async () => {
  await using node = await createFakeNode(desiredConfig);
  const clock = createStoppableClock();
  const environment = {
    ...allowed,
    GATEHOUSE_SIDECAR_LAG_RESTART_AFTER_MS: "1000",
    GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: "60000",
    GATEHOUSE_SIDECAR_HEALTH_TIMEOUT_MS: "10000",
  };
  await using upkeep = await settled(node, environment, { clock });
  await steady(upkeep);
  await node.stall();
  await waitForRestart(
    node,
    upkeep,
    2,
    /^Restarting the node \(ops\): the node has been unhealthy for \d+ s: NoNewBlock \(No new blocks after a steady rate: height has been \d+ for more than 1 s, since /,
  );
  expect(await upkeep.metrics.metrics()).toContain('gatehouse_node_restarts_total{cause="unhealthy"} 1');
  // An exited node is not mistaken for a starting one.
  await upkeep.reason("RpcResponding", "Responding");
  await upkeep.passes(2);
  await node.stop();
  const ended = /^Restarting the node \(ops\): the node has been unhealthy for \d+ s: ConnectionRefused \(/;
  await waitForRestart(node, upkeep, 3, ended);
  await node.opensAfter(3_000);
  let started: Promise<void> | undefined;
  await clock.whileStopped(async () => {
    await node.stop();
    started = node.start();
    const message = await readUntil(
      () => upkeep.board.get("NoRestartPending")?.message ?? "",
      (text) => text.startsWith("No restart is pending: "),
    );
    expect(message).toMatch(
      /^No restart is pending: the node has not responded since it started and has until 20\d\d-\S+Z \(restart\.answersWithinMs\)\.$/,
    );
  });
  await started;
  await upkeep.reason("HeightAdvancing", "Advancing");
  await upkeep.passes(5);
  expect(await node.starts()).toBe(4);
  expect(upkeep.board.get("NoRestartPending")?.message).toBe("No restart is pending.");
});

/** A height far above the fake node's. */
const farAhead = () => Math.floor(Date.now() / blockTimeMs) + 1_000_000;

test("leaves alone a node that catches up with its references, and restarts one that keeps lagging only within the budget", async () => {
  await using node = await createFakeNode(desiredConfig);
  // As for a node with old data, the references are far ahead, and it advances faster than they do.
  let height = farAhead();
  await using reference = await serveNode(respondToRpc({ eth_blockNumber: () => `0x${height.toString(16)}` }));
  await using upkeep = await settled(node, {
    ...allowed,
    GATEHOUSE_SIDECAR_LAG_RESTART_AFTER_MS: "1000",
    GATEHOUSE_SIDECAR_LAG_REFERENCES: reference.url,
    GATEHOUSE_SIDECAR_RESTART_BUDGET_PER_HOUR: "2",
  });
  await upkeep.reason("NodeSynced", "Behind");
  const lag = async () => Number(/^gatehouse_node_lag_blocks (\d+)/m.exec(await upkeep.metrics.metrics())?.[1]);
  const lagBefore = await lag();
  await readUntil(lag, (now) => now < lagBefore - 80);
  expect(await node.starts()).toBe(1);
  expect(upkeep.board.get("NoRestartPending")?.message).toBe("No restart is pending.");
  const advance = setInterval(() => (height = farAhead()), blockTimeMs);
  using _ = { [Symbol.dispose]: () => clearInterval(advance) };
  const { message } = await upkeep.reason("NoRestartPending", "BudgetExhausted");
  expect(message).toMatch(
    /^A restart is pending \(the node has been unhealthy for \d+ s: Behind \(The node is at \d+, \d+ blocks behind the references \(limit: 50\); check its peers and its disk\.\)\); it starts at \d{4}-\S+Z, because there (?:was 1 restart|were 1 restarts) in the last hour and the last of restart\.budgetPerHour is reserved for a rollback\. Check the events for their causes; to restart now, run `.*restart`\.$/,
  );
  await upkeep.passes(10);
  // The budget allows two starts, of which one is reserved for a rollback; the test itself made the first start.
  expect(await node.starts()).toBe(2);
});

test("only reports a stalled node without lag.restart, but starts one that has exited, even while the sidecar was down", async () => {
  await using node = await createFakeNode(desiredConfig);
  {
    await using upkeep = await settled(node, quick);
    await upkeep.reason("DataIntact", "Intact");
    await steady(upkeep);
    await node.stall();
    await upkeep.reason("HeightAdvancing", "NoNewBlock");
    await upkeep.passes(10);
    expect(upkeep.board.get("NoRestartPending")?.reason).toBe("NoRestart");
    expect(await node.starts()).toBe(1);
    await node.kill();
    await upkeep.restarted(2);
    await upkeep.reason("DataIntact", "Intact");
  }
  await node.kill();
  await using upkeep = await runUpkeep(node, { ...quick, GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2" });
  await upkeep.restarted(3);
});

test("immediately restarts a process that exited while a sidecar that has since been killed was verifying its restart", async () => {
  await using node = await createFakeNode();
  await node.start();
  // The node responds only after the first sidecar has exited.
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
    await using upkeep = await runUpkeep(node, environment);
    await readUntil(
      () => upkeep.state.restartInFlight.get()?.phase,
      (phase) => phase === "verifying",
    );
  }
  await node.kill();
  await node.opensAfter(0);
  await using upkeep = await runUpkeep(node, environment);
  await readUntil(node.starts, (starts) => starts === 3);
  expect((await upkeep.reason("NotPaused", "Paused")).message).toContain("its process exited");
});

test("restarts a node with an invisible process once it has been unresponsive for longer than a start may take", async () => {
  await using node = await createFakeNode(desiredConfig);
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
  const stoppedMs = Date.now();
  await node.stop();
  await readUntil(node.starts, (starts) => starts === 2);
  expect(Date.now() - stoppedMs).toBeGreaterThanOrEqual(2_000);
  await upkeep.reason("NoRestartPending", "NoRestart");
});
