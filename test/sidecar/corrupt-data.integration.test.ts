import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { expect, test } from "vitest";
import { buildFreePortConfig, createFakeNode, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { blockTimeMs } from "#sidecar/testing/fake-node-programs.ts";
import { runUpkeep, type RunningUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { serveNode } from "#sidecar/testing/watched-node.ts";
import { until } from "#daemon/testing/until.ts";

/**
 * A sidecar that starts an exited node, and checks its data every second; a fake node responds as soon as its start command exits, or
 * never.
 */
const quick = {
  GATEHOUSE_SIDECAR_LAG_RESTART: "true",
  GATEHOUSE_SIDECAR_HEALTH_INTERVAL_MS: "50",
  GATEHOUSE_SIDECAR_LAG_RESTART_AFTER_MS: "50",
  GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: "1500",
  GATEHOUSE_SIDECAR_RESTART_BUDGET_PER_HOUR: "60",
};

/** Waits for an expected state, and otherwise reports the whole state. */
function describeBoard({ board }: RunningUpkeep): string {
  return board
    .list()
    .map(({ type, reason, message }) => `${type} ${reason}: ${message}`)
    .join("\n");
}

async function startFake(environment: Readonly<Record<string, string>> = {}) {
  const resources = new AsyncDisposableStack();
  const node = resources.use(await createFakeNode(await buildFreePortConfig()));
  await writeFile(join(node.workspace, "data", "chain"), "blocks");
  await node.start();
  const upkeep = resources.use(await runUpkeep(node, { ...quick, ...environment }));
  await upkeep.reason("RollbackReady", "Ready");
  await upkeep.reason("DataIntact", "Intact");
  return { node, upkeep, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

async function ruinFake(node: FakeNode): Promise<void> {
  await writeFile(join(node.workspace, "data", "chain"), "ruined");
  await node.kill();
  // Without a PID file, `ops` knows that the node is not running; after a successful `ops stop`, the sidecar would wait for a start by
  // someone else.
  await rm(join(node.workspace, "node.pid"), { force: true });
}

/** Makes the node return a different block than before while it keeps running. */
const fork = (node: FakeNode) => writeFile(join(node.workspace, "data", "forked"), "");

const readChain = (node: FakeNode) => readFile(join(node.workspace, "data", "chain"), "utf8");

/** Waits until a condition has the reason and the text. */
async function waitForCondition(
  upkeep: RunningUpkeep,
  type: "DataIntact" | "NotPaused",
  reason: string,
  words: string,
) {
  const said = () => {
    const condition = upkeep.board.get(type);
    return condition?.reason === reason && condition.message.includes(words) && condition;
  };
  return until(`${type} says ${words}`, 60_000, said).catch((cause: unknown) => {
    throw new Error(describeBoard(upkeep), { cause });
  });
}

test("reports data with which the node does not start, what is missing and the runbook, and leaves the data unchanged", async () => {
  await using fake = await startFake();
  const { node, upkeep } = fake;
  await ruinFake(node);
  const condition = await waitForCondition(upkeep, "DataIntact", "Inconclusive", "2 consecutive starts");
  expect(condition.message).toContain("Not ruled out: node.conf, the binaries");
  expect(condition.message).toContain("docs/runbooks/data-suspect.md");
  await upkeep.reason("NotPaused", "Paused");
  expect(upkeep.state.upgrade.get()).toBeUndefined();
  expect(await readChain(node)).toBe("ruined");
});

test("rolls back a node.conf with which the node does not start, without suspecting the data", async () => {
  await using fake = await startFake();
  const { node, upkeep } = fake;
  const good = await node.config();
  await node.save(good.replace("big", "crash"));
  await waitForCondition(
    upkeep,
    "NotPaused",
    "Paused",
    "Its last healthy configuration was restored. It recovered after one more restart.",
  );
  expect(await node.config()).toBe(good);
  await upkeep.reason("DataIntact", "Intact");
  expect(upkeep.state.upgrade.get()).toBeUndefined();
});

/** Starts another node of the chain, which has the fake node's former blocks, and returns them once it is synced. */
async function startReference({ isSynced = true } = {}) {
  let returnsBlocks = isSynced;
  const node = await serveNode((request, response) => void answer(request, response, returnsBlocks));
  return { ...node, sync: () => void (returnsBlocks = true) };
}

async function answer(request: IncomingMessage, response: ServerResponse, returnsBlocks: boolean): Promise<void> {
  const { id, method, params } = (await json(request)) as { id: number; method: string; params: readonly string[] };
  const reply = (part: object) => response.end(JSON.stringify({ jsonrpc: "2.0", id, ...part }));
  // At the fake node's height: a node that lags behind its reference would be restarted.
  if (method === "eth_blockNumber") reply({ result: `0x${(Math.floor(Date.now() / blockTimeMs) % 1e9).toString(16)}` });
  else if (returnsBlocks) reply({ result: { hash: `0x${Number(params[0]).toString(16).padStart(64, "5")}` } });
  else reply({ error: { code: -32_000, message: "the block does not exist yet" } });
}

test("reports a changed final block as unconfirmed if no other node has it, and suspects the data once a different node of the chain has the old block", async () => {
  await using reference = await startReference({ isSynced: false });
  await using fake = await startFake({ GATEHOUSE_SIDECAR_LAG_REFERENCES: reference.url });
  const { node, upkeep } = fake;
  await fork(node);
  const doubt = "a reorganization (no reference returns that block)";
  await waitForCondition(upkeep, "DataIntact", "Inconclusive", doubt);
  expect(upkeep.state.upgrade.get()).toBeUndefined();
  reference.sync();
  const suspect = await waitForCondition(upkeep, "DataIntact", "Suspect", "has the hash");
  expect(suspect.status).toBe("False");
  expect(suspect.message).toContain("docs/runbooks/data-suspect.md");
  expect(upkeep.state.upgrade.get()).toBeUndefined();
  expect(await readdir(join(node.workspace, "data"))).toContain("forked");
});
