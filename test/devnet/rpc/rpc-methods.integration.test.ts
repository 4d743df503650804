import * as Hash from "ox/Hash";
import * as Rlp from "ox/Rlp";
import { createPublicClient, defineChain, http, type Hex } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { validatorAddresses } from "#devnet/anvil/validators.ts";
import { listMethodShapes } from "#devnet/testing/method-shapes.ts";
import { createSubject, type TestSubject } from "#devnet/testing/rpc-subject.ts";
import { otherSender, sender, startTestNode, testChainId, type TestNode } from "#devnet/testing/rpc-fixture.ts";

let node: TestNode;
let subject: TestSubject;
beforeAll(async () => {
  node = await startTestNode();
  subject = await createSubject(node);
});
afterAll(() => node[Symbol.asyncDispose]());

/** The hashes of a raw block's header and transactions, its uncles and its withdrawals. */
function contentOf(raw: Hex): unknown {
  const [header, transactions, ...rest] = Rlp.toHex(raw) as unknown as [Hex[], (Hex | Hex[])[], unknown, unknown];
  const encoded = transactions.map((item) => (typeof item === "string" ? item : Rlp.fromHex(item)));
  return [Hash.keccak256(Rlp.fromHex(header)), encoded.map((item) => Hash.keccak256(item)), ...rest];
}

test("every method of the specification's tables answers with its shape", async () => {
  for (const [method, params, shape] of listMethodShapes(subject)) {
    const parsed = shape.safeParse(await node.ask(method, ...params));
    expect.soft(parsed.error?.issues ?? [], method).toEqual([]);
  }
  // The block of the walk's signed transaction exists before the other tests run.
  await node.anvil.mine();
});

test("the batch methods do not exist, and subscriptions need a WebSocket", async () => {
  for (const name of ["BlockByNumber", "TransactionByHash", "TransactionReceipt", "BlockReceipts"]) {
    const method = `eth_batchGet${name}`;
    const message = `the method ${method} does not exist/is not available`;
    expect(await node.refusal(method, [])).toEqual({ code: -32601, message });
  }
  for (const method of ["eth_subscribe", "eth_unsubscribe"]) {
    expect(await node.refusal(method, "newHeads")).toEqual({ code: -32601, message: "notifications not supported" });
  }
});

test("a raw header hashes to its block, a raw block has its transactions, raw receipts hash to their root", async () => {
  const header = await node.ask<Hex>("debug_getRawHeader", subject.blockNumber);
  expect(Hash.keccak256(header)).toBe(subject.blockHash);
  for (const id of ["0x0", "0x1", subject.blockHash, "latest"]) {
    const method = id.length === 66 ? "eth_getBlockByHash" : "eth_getBlockByNumber";
    const block = await node.ask<{ hash: Hex; transactions: Hex[] }>(method, id, false);
    expect(contentOf(await node.ask<Hex>("debug_getRawBlock", id)), id).toEqual([
      block.hash,
      block.transactions,
      [],
      [],
    ]);
  }
  const [receipt] = await node.ask<Hex[]>("debug_getRawReceipts", subject.blockNumber);
  const { receiptsRoot } = await node.ask<{ receiptsRoot: Hex }>("eth_getBlockByHash", subject.blockHash, false);
  // The root of a trie with one leaf: path 0x80 (RLP of index 0) as an even leaf, and the receipt.
  expect(Hash.keccak256(Rlp.fromHex(["0x2080", receipt!]))).toBe(receiptsRoot);
  expect(Hash.keccak256(await node.ask<Hex>("debug_getRawTransaction", subject.transaction))).toBe(subject.transaction);
});

test("legacy, EIP-2930 and EIP-1559 transactions are taken; others and unknown bytes are refused", async () => {
  const hashes = [];
  for (const type of ["legacy", "eip2930", "eip1559"] as const)
    hashes.push(await subject.wallet.send({ to: subject.caller, type }));
  const block = await node.anvil.mine();
  expect(block.transactions).toEqual(expect.arrayContaining(hashes));
  const raw = await node.ask<Hex>("debug_getRawBlock", block.number);
  expect(contentOf(raw)).toEqual([block.hash, block.transactions, [], []]);
  expect(await node.refusal("eth_sendRawTransaction", "0x03c0")).toEqual({
    code: -32000,
    message: "transaction type not supported",
  });
  expect(await node.refusal("eth_sendRawTransaction", "0x02c0")).toMatchObject({ code: -32000 });
  expect(await node.refusal("eth_sendRawTransaction", subject.signed)).toEqual({
    code: -32000,
    message: "nonce too low",
  });
});

test("a transaction that can never be in a block is refused, not answered with a hash", async () => {
  const nonce = Number(await node.ask<Hex>("eth_getTransactionCount", otherSender.address, "latest"));
  const common = { nonce, gas: 21_000n, to: sender.address, chainId: testChainId };
  const fees = { maxFeePerGas: 20_000_000_000n, maxPriorityFeePerGas: 1n };
  const legacy = { ...common, type: "legacy", gasPrice: 20_000_000_000n } as const;
  const refused = async (transaction: Parameters<typeof otherSender.signTransaction>[0]) =>
    node.refusal("eth_sendRawTransaction", await otherSender.signTransaction(transaction));
  const otherChain = "invalid sender: invalid chain id for signer: have 5 want 1672";
  expect(await refused({ ...legacy, chainId: 5 })).toEqual({ code: -32000, message: otherChain });
  expect(await refused({ ...common, ...fees, chainId: 5 })).toEqual({ code: -32000, message: otherChain });
  expect(await refused({ ...common, ...fees, gas: 20_999n })).toEqual({
    code: -32000,
    message: "intrinsic gas too low: gas 20999, minimum needed 21000",
  });
  expect(await refused({ ...common, ...fees, to: null, data: "0xff", gas: 53_017n })).toEqual({
    code: -32000,
    message: "intrinsic gas too low: gas 53017, minimum needed 53018",
  });
  expect(await refused({ ...common, ...fees, gas: 40_000_000n })).toEqual({
    code: -32000,
    message: "exceeds block gas limit",
  });
  const { chainId: _, ...unprotected } = legacy;
  const taken = await node.ask<Hex>("eth_sendRawTransaction", await otherSender.signTransaction(unprotected));
  await node.anvil.mine();
  expect(await node.ask("eth_getTransactionReceipt", taken)).toMatchObject({ status: "0x1" });
});

test("the block's own data gives its proposer and what it read and wrote", async () => {
  const proposer = validatorAddresses[Number(subject.blockNumber) % 4];
  expect(await node.ask("eth_getProposersByBlockNumber", subject.blockNumber)).toEqual([proposer]);
  expect(await node.ask("eth_getProposerByTxHash", subject.transaction)).toMatchObject({
    proposer,
    blockHash: subject.blockHash,
  });
  expect(await node.ask("eth_getProposerByTxHash", `0x${"00".repeat(32)}`)).toBeNull();
  const contract = subject.contract.toLowerCase();
  const slot = `0x${"00".repeat(32)}`;
  const read = await node.ask<{ states: object }>("debug_getBlockReadStates", subject.blockNumber);
  expect(read.states).toHaveProperty([contract, "storage", slot], slot);
  const write = await node.ask<{ states: object }>("debug_getBlockWriteStates", subject.blockNumber);
  expect(write.states).toHaveProperty([contract, "storage", slot], subject.written);
  const keys = await node.ask("debug_getBlockWriteSetKeys", subject.blockNumber);
  expect(keys).toEqual(expect.arrayContaining([proposer, sender.address.toLowerCase(), `${contract}${slot.slice(2)}`]));
});

test("validators' proposals add up to the blocks", async () => {
  for (const block of ["earliest", "0x1", "latest"]) {
    type Info = { blockNumber: Hex; validators: { proposedBlocks: Hex }[] };
    const { blockNumber, validators } = await node.ask<Info>("debug_getValidatorInfo", block);
    const total = validators.reduce((sum, { proposedBlocks }) => sum + Number(proposedBlocks), 0);
    expect(total, block).toBe(Number(blockNumber));
  }
});

test("ranges and blocks that make no sense are refused with geth's words", async () => {
  const invalid = { code: -32602, message: "invalid block range params" };
  expect(await node.refusal("eth_getLogs", { fromBlock: "0x2", toBlock: "0x1" })).toEqual(invalid);
  expect(await node.refusal("eth_getLogs", { fromBlock: "0xffff" })).toMatchObject({ code: -32602 });
  expect(await node.refusal("eth_getLogs", { blockHash: subject.blockHash, fromBlock: "0x1" })).toMatchObject({
    code: -32602,
  });
  expect(await node.refusal("eth_getLogs", { fromBlock: "pending" })).toMatchObject({ code: -32000 });
  expect(await node.refusal("eth_getLogs", { topics: [null, null, null, null, null] })).toMatchObject({ code: -32602 });
  const missing = { code: -32000, message: "header not found" };
  expect(await node.refusal("eth_getBalance", sender.address, "0xffff")).toEqual(missing);
  expect(await node.refusal("debug_getRawHeader", "0xffff")).toEqual(missing);
  expect(await node.refusal("debug_traceTransaction", `0x${"00".repeat(32)}`)).toEqual({
    code: -32000,
    message: "transaction not found",
  });
  expect(await node.refusal("eth_feeHistory", "0x1", "0xffff", [])).toEqual({
    code: -32000,
    message: `request beyond head block: requested 65535, head ${Number(await node.ask("eth_blockNumber"))}`,
  });
  expect(await node.refusal("eth_getBalance", sender.address, { blockHash: `0x${"ab".repeat(32)}` })).toEqual({
    code: -32000,
    message: "header for hash not found",
  });
  expect(await node.refusal("eth_getBlockByNumber", "0x10000000000000000", false)).toMatchObject({ code: -32602 });
});

test("what is not there is null", async () => {
  const unknown = `0x${"ab".repeat(32)}`;
  for (const [method, ...params] of [
    ["eth_getBlockByNumber", "0xffff", false],
    ["eth_getBlockByHash", unknown, true],
    ["eth_getBlockReceipts", "0xffff"],
    ["eth_getBlockReceipts", unknown],
    ["eth_getBlockReceipts", { blockHash: unknown }],
    ["eth_getBlockTransactionCountByNumber", "0xffff"],
    ["eth_getBlockTransactionCountByHash", unknown],
    ["eth_getTransactionByHash", unknown],
    ["eth_getTransactionByBlockHashAndIndex", unknown, "0x0"],
    ["eth_getTransactionByBlockNumberAndIndex", "0xffff", "0x0"],
    ["eth_getTransactionByBlockNumberAndIndex", subject.blockNumber, "0xff"],
    ["eth_getTransactionReceipt", unknown],
  ] as const) {
    expect(await node.ask(method, ...params), method).toBeNull();
  }
});

test("a block is found by number, hash and EIP-1898's objects wherever a state or receipts are requested", async () => {
  const { blockNumber, blockHash } = subject;
  const receipts = await node.ask("eth_getBlockReceipts", blockNumber);
  const balance = await node.ask("eth_getBalance", sender.address, blockNumber);
  for (const id of [blockHash, { blockHash }, { blockHash, requireCanonical: true }, { blockNumber }]) {
    expect(await node.ask("eth_getBlockReceipts", id)).toEqual(receipts);
    expect(await node.ask("eth_getBalance", sender.address, id)).toEqual(balance);
  }
});

test("viem reads and waits without knowing that this is a devnet", async () => {
  const chain = defineChain({
    id: testChainId,
    name: "devnet",
    nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
    rpcUrls: { default: { http: [node.rpc.httpUrl] } },
  });
  const client = createPublicClient({ chain, transport: http(node.rpc.httpUrl, { batch: true }), pollingInterval: 20 });
  const hash = await subject.wallet.send({ to: sender.address, value: 1n });
  const waiting = client.waitForTransactionReceipt({ hash });
  await node.anvil.mine();
  expect((await waiting).status).toBe("success");
  const [pending, proof, fees, block] = await Promise.all([
    client.getBlock({ blockTag: "pending" }),
    client.getProof({ address: subject.contract as Hex, storageKeys: [`0x${"00".repeat(32)}`] }),
    client.estimateFeesPerGas(),
    client.getBlock({ includeTransactions: true }),
  ]);
  expect(pending.number).toBe(block.number + 1n);
  expect(pending.hash).toMatch(/^0x[0-9a-f]{64}$/);
  expect(proof.storageProof).toHaveLength(1);
  expect(fees.maxFeePerGas).toBeGreaterThan(0n);
  expect(block.transactions.map((transaction) => transaction.hash)).toEqual([hash]);
});
