import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Hex } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { within } from "#daemon/time.ts";
import { buildPruneInfo } from "#devnet/pruning.ts";
import { createWallet, sender, startTestNode, type TestNode } from "#devnet/testing/rpc-fixture.ts";

let stateDirectory: string;
let node: TestNode;
/** The sender's nonce after each block, by the block's number. */
const nonces = new Map<number, number>();
beforeAll(async () => {
  stateDirectory = mkdtempSync(join(tmpdir(), "gatehouse-states-"));
  node = await startTestNode({ stateDirectory });
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
  rmSync(stateDirectory, { recursive: true });
});

/** Produces blocks, each with a transaction. */
async function mineBlocks(count: number): Promise<void> {
  const wallet = await createWallet(node);
  for (let block = 0; block < count; block += 1) {
    await wallet.send({ to: sender.address });
    const { number } = await node.anvil.mine();
    nonces.set(Number(number), Number(await node.ask<Hex>("eth_getTransactionCount", sender.address, "latest")));
  }
}

/**
 * The oldest block whose state exists according to PruneInfo: a block's version is the flushed version when it was the
 * latest.
 */
function oldestKept(head: number): number {
  const { prune_reserved_version: reserved } = buildPruneInfo({ enabledAtBlock: 0 }, head);
  for (let block = head; ; block -= 1) {
    if (buildPruneInfo({ enabledAtBlock: 0 }, block - 1).flushed_version < reserved) return block;
  }
}

/**
 * Requests states of the blocks at both ends of the window, by number and by hash: those within the window are correct,
 * those before it are missing.
 */
async function checkStates(): Promise<void> {
  const head = Number(await node.ask<Hex>("eth_blockNumber"));
  const oldest = oldestKept(head);
  expect(head - oldest).toBe(125);
  const around = [oldest, head].flatMap((end) => Array.from({ length: 11 }, (_, at) => end - 5 + at));
  for (const number of around.filter((each) => each >= 1 && each <= head)) {
    const id: Hex = `0x${number.toString(16)}`;
    const { hash, stateRoot } = await node.ask<{ hash: Hex; stateRoot: Hex }>("eth_getBlockByNumber", id, false);
    for (const block of [id, { blockHash: hash }]) {
      if (number < oldest) {
        expect(await node.refusal("eth_getTransactionCount", sender.address, block), `block ${number}`).toEqual({
          code: -32000,
          message: `missing trie node ${stateRoot.slice(2)} (path ) state ${stateRoot} is not available`,
        });
        continue;
      }
      const nonce = await node.ask<Hex>("eth_getTransactionCount", sender.address, block);
      const expected = nonces.get(number) ?? nonces.get(number - 1);
      if (expected !== undefined) expect(Number(nonce), `block ${number} of ${head}`).toBe(expected);
    }
  }
}

test("states are there for as long as the window says, and not longer", async () => {
  await mineBlocks(140);
  await checkStates();
});

test("calls, proofs and traces of a pruned state say the same", async () => {
  const call = { from: sender.address, to: sender.address };
  for (const [method, ...params] of [
    ["eth_call", call, "0x3"],
    ["eth_estimateGas", call, "0x3"],
    ["eth_createAccessList", call, "0x3"],
    ["debug_traceCall", call, "0x3"],
    ["eth_getProof", sender.address, [], "0x3"],
    ["eth_getCode", sender.address, "earliest"],
    ["eth_getStorageAt", sender.address, "0x0", "0x3"],
    ["eth_getAccount", sender.address, "0x3"],
  ] as const) {
    expect(await node.refusal(method, ...params), method).toMatchObject({
      code: -32000,
      message: expect.stringMatching(
        /^missing trie node [0-9a-f]{64} \(path \) state 0x[0-9a-f]{64} is not available$/,
      ),
    });
  }
});

test("a restart keeps the window, and so does a second one", async () => {
  for (let round = 0; round < 2; round += 1) {
    await node[Symbol.asyncDispose]();
    node = await startTestNode({ stateDirectory });
    await checkStates();
    await mineBlocks(20);
    await checkStates();
  }
});

test("kill -9 of the chain keeps the window", async () => {
  process.kill(node.anvil.pid, "SIGKILL");
  await within("the end of anvil", 5_000, node.anvil.ended);
  await node[Symbol.asyncDispose]();
  node = await startTestNode({ stateDirectory });
  await checkStates();
  await mineBlocks(5);
  await checkStates();
});
