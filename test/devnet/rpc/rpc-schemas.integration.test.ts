import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { JsonRpcProvider } from "ethers";
import * as fc from "fast-check";
import type { Hex } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket } from "ws";
import { within } from "#daemon/time.ts";
import { findMistakes, type ExecutionObject } from "#devnet/testing/execution-schemas.ts";
import { encodeCreation, sender, startTestNode, testChainId, type TestNode } from "#devnet/testing/rpc-fixture.ts";
import { createSubject, type TestSubject } from "#devnet/testing/rpc-subject.ts";
import { deployContracts } from "#devnet/contracts/genesis.ts";

let stateDirectory: string;
let node: TestNode;
let subject: TestSubject;
beforeAll(async () => {
  stateDirectory = mkdtempSync(join(tmpdir(), "gatehouse-schemas-"));
  node = await startTestNode({ stateDirectory });
  subject = await createSubject(node);
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
  rmSync(stateDirectory, { recursive: true });
});

type Block = Readonly<{ number: Hex; hash: Hex; size: Hex; transactions: readonly Hex[] }>;

function check(name: ExecutionObject, value: unknown): void {
  expect(findMistakes(name, value)).toEqual([]);
}

/** Checks a block and its contents, requested in every way. */
async function checkBlock(number: Hex): Promise<void> {
  const block = await node.ask<Block>("eth_getBlockByNumber", number, false);
  check("block", block);
  const full = await node.ask<{ transactions: unknown[] }>("eth_getBlockByHash", block.hash, true);
  check("fullBlock", full);
  const raw = await node.ask<Hex>("debug_getRawBlock", number);
  expect(Number(block.size)).toBe(raw.length / 2 - 1);
  const receipts = await node.ask<unknown[]>("eth_getBlockReceipts", number);
  expect(receipts).toHaveLength(block.transactions.length);
  for (const [index, hash] of block.transactions.entries()) {
    check("receipt", receipts[index]);
    expect(await node.ask("eth_getTransactionReceipt", hash)).toEqual(receipts[index]);
    const place: Hex = `0x${index.toString(16)}`;
    for (const found of [
      await node.ask("eth_getTransactionByHash", hash),
      await node.ask("eth_getTransactionByBlockHashAndIndex", block.hash, place),
      await node.ask("eth_getTransactionByBlockNumberAndIndex", number, place),
    ]) {
      check("transaction", found);
      expect(found).toEqual(full.transactions[index]);
    }
  }
  for (const log of await node.ask<unknown[]>("eth_getLogs", { blockHash: block.hash })) check("log", log);
}

/** Every block from the genesis on. */
async function checkChain(): Promise<void> {
  const head = Number(await node.ask<Hex>("eth_blockNumber"));
  for (let number = 0; number <= head; number += 1) await checkBlock(`0x${number.toString(16)}`);
}

const types = ["legacy", "eip2930", "eip1559"] as const;

/** Transactions that write and log, call, transfer, create, revert and halt, of each type. */
const kinds = {
  write: () => ({ to: subject.contract as Hex, data: `0x${"5a".repeat(32)}` as Hex }),
  call: () => ({ to: subject.caller, data: `0x${subject.contract.slice(2).padStart(64, "0")}` as Hex }),
  transfer: () => ({ to: `0x${"7e".repeat(20)}` as Hex, value: 1n }),
  create: () => ({ data: encodeCreation("0x00") }),
  createNothing: () => ({ data: "0x60006000fd" as Hex }),
  halt: () => ({ data: "0xfe" as Hex, value: 3n }),
  long: () => ({ to: subject.caller, data: `0x${"00".repeat(2_000)}` as Hex }),
};
type Step = Readonly<{ type: (typeof types)[number]; kind: keyof typeof kinds; listed: boolean }>;
const step: fc.Arbitrary<Step> = fc.record({
  type: fc.constantFrom(...types),
  kind: fc.constantFrom(...(Object.keys(kinds) as (keyof typeof kinds)[])),
  listed: fc.boolean(),
});

async function send({ type, kind, listed }: Step): Promise<Hex> {
  const accessList = listed && type !== "legacy" ? [{ address: subject.contract as Hex, storageKeys: [word(0)] }] : [];
  return subject.wallet.send({ ...kinds[kind](), type, ...(type === "legacy" ? {} : { accessList }) });
}

function word(value: number): Hex {
  return `0x${value.toString(16).padStart(64, "0")}`;
}

/** Fields of a block that are not part of its header. */
const bodyFields = new Set(["transactions", "uncles", "withdrawals", "size"]);

test("whatever transactions a block has, each of its parts is as the execution API has it", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
      const hashes: Hex[] = [];
      for (const one of steps) hashes.push(await send(one));
      for (const hash of hashes) {
        check("waitingTransaction", await node.ask("eth_getTransactionByHash", hash));
        expect(await node.ask("eth_getTransactionReceipt", hash)).toBeNull();
      }
      check("block", await node.ask("eth_getBlockByNumber", "pending", false));
      check("fullBlock", await node.ask("eth_getBlockByNumber", "pending", true));
      const { number } = await node.anvil.mine();
      await checkBlock(number);
    }),
    { numRuns: 12 },
  );
});

test("blocks around the lengths at which RLP's prefixes grow have the size that they have", async () => {
  for (const length of [0, 64_600, 64_700, 64_750, 64_800, 64_900]) {
    await subject.wallet.send({ to: sender.address, data: `0x${"00".repeat(length)}`, gas: 2_000_000n });
    const { number } = await node.anvil.mine();
    await checkBlock(number);
  }
});

test("the token's deployment and the genesis are as the execution API has them", async () => {
  await deployContracts(node.anvil, async () => ({ chainId: testChainId, holders: [sender.address] }));
  await checkChain();
});

test("fees, proofs, access lists and the state of syncing are as the execution API has them", async () => {
  for (const rewards of [[], [0, 50, 100]]) {
    for (const newest of ["latest", "earliest", "pending", "0x2"]) {
      check("feeHistory", await node.ask("eth_feeHistory", "0x400", newest, rewards));
    }
  }
  for (const [address, key] of [
    [subject.contract, "0x0"],
    [subject.contract, word(0)],
    [subject.contract, "0x5"],
    [`0x${"12".repeat(20)}`, "0x0"],
  ] as const) {
    check("proof", await node.ask("eth_getProof", address, [key], "latest"));
  }
  const call = { from: sender.address, to: subject.contract, data: word(1) };
  check("accessListResult", await node.ask("eth_createAccessList", call));
  check("accessListResult", await node.ask("eth_createAccessList", { from: sender.address, data: "0xfe" }));
  check("syncing", await node.ask("eth_syncing"));
});

test("ethers reads a pending block, a mined one, and what is in them", async () => {
  const provider = new JsonRpcProvider(node.rpc.httpUrl, testChainId, { staticNetwork: true, batchMaxCount: 1 });
  const hashes: Hex[] = [];
  for (const type of types) hashes.push(await send({ type, kind: "write", listed: true }));
  const pending = await provider.getBlock("pending", true);
  expect(pending?.prefetchedTransactions.map(({ hash }) => hash)).toEqual(hashes);
  const { number } = await node.anvil.mine();
  const mined = await provider.getBlock(Number(number), true);
  expect(mined?.prefetchedTransactions.map(({ type }) => type)).toEqual([0, 1, 2]);
  for (const hash of hashes) {
    const receipt = await provider.getTransactionReceipt(hash);
    expect(receipt).toMatchObject({ status: 1, blockNumber: Number(number), blobGasPrice: null });
    expect(receipt?.logs).toHaveLength(1);
  }
  expect(await provider.getLogs({ fromBlock: Number(number), toBlock: Number(number) })).toHaveLength(3);
  expect((await provider.getFeeData()).maxFeePerGas).toBeGreaterThan(0n);
  provider.destroy();
});

test("subscribers get heads with what the block has", async () => {
  const socket = new WebSocket(node.rpc.webSocketUrl);
  const messages: { result?: Hex; params?: { result: Record<string, unknown> } }[] = [];
  const reported = Promise.withResolvers<void>();
  socket.on("message", (data) => {
    messages.push(JSON.parse(String(data)) as (typeof messages)[number]);
    if (messages.length === 1) void node.anvil.mine();
    else reported.resolve();
  });
  await once(socket, "open");
  socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_subscribe", params: ["newHeads"] }));
  await within("the head", 5_000, reported.promise);
  socket.close();
  const head = messages[1]?.params?.result ?? {};
  const block = await node.ask<Record<string, unknown>>("eth_getBlockByHash", head["hash"], false);
  const bodyless = Object.entries(block).filter(([name]) => !bodyFields.has(name));
  expect(head).toEqual(Object.fromEntries(bodyless));
});

test("everything is the same after a restart", async () => {
  await node[Symbol.asyncDispose]();
  node = await startTestNode({ stateDirectory });
  await checkChain();
});
