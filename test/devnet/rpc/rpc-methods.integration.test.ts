import * as Hash from "ox/Hash";
import * as Rlp from "ox/Rlp";
import type { Hex } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { validatorAddresses } from "#devnet/anvil/validators.ts";
import { createSubject, type TestSubject } from "#devnet/testing/rpc-subject.ts";
import { otherSender, sender, startTestNode, testChainId, type TestNode } from "#devnet/testing/rpc-fixture.ts";
import { specifiedMethods } from "#gateway/catalogue/methods.ts";
import { listMethodShapes } from "./method-shapes.ts";

let node: TestNode;
let subject: TestSubject;
beforeAll(async () => {
  node = await startTestNode();
  subject = await createSubject(node);
});
afterAll(() => node[Symbol.asyncDispose]());

const rejected = (message: string) => ({ code: -32000, message });

test("returns the specified shape for every method", async () => {
  const shapes = listMethodShapes(subject);
  const servedMethods = specifiedMethods.filter(
    ({ name, answeredBy }) => answeredBy !== "nobody" && !/subscribe$|^rpc\./.test(name),
  );
  expect(shapes.map(([method]) => method).toSorted()).toEqual(servedMethods.map(({ name }) => name).toSorted());
  for (const [method, params, shape] of shapes) {
    const parsed = shape.safeParse(await node.ask(method, ...params));
    expect.soft(parsed.error?.issues ?? [], method).toEqual([]);
  }
  // The block of the signed transaction exists before the other tests run.
  await node.anvil.mine();
});

test("rejects the batch methods, and subscriptions over HTTP", async () => {
  for (const name of ["BlockByNumber", "TransactionByHash", "TransactionReceipt", "BlockReceipts"]) {
    const method = `eth_batchGet${name}`;
    const message = `the method ${method} does not exist/is not available`;
    expect(await node.rejection(method, [])).toEqual({ code: -32601, message });
  }
  for (const method of ["eth_subscribe", "eth_unsubscribe"]) {
    expect(await node.rejection(method, "newHeads")).toEqual({ code: -32601, message: "notifications not supported" });
  }
});

test("returns raw headers, blocks and receipts that match their hashes", async () => {
  const header = await node.ask<Hex>("debug_getRawHeader", subject.blockNumber);
  expect(Hash.keccak256(header)).toBe(subject.blockHash);
  const raw = Rlp.toHex(await node.ask<Hex>("debug_getRawBlock", subject.blockHash)) as unknown as [Hex[], Hex[]];
  expect(Hash.keccak256(Rlp.fromHex(raw[0]))).toBe(subject.blockHash);
  expect(raw[1].map((transaction) => Hash.keccak256(transaction))).toEqual([subject.transaction]);
  const [receipt] = await node.ask<Hex[]>("debug_getRawReceipts", subject.blockHash);
  const { receiptsRoot } = await node.ask<{ receiptsRoot: Hex }>("eth_getBlockByHash", subject.blockHash, false);
  // The root of a trie with one leaf: path 0x80 (RLP of index 0) as an even leaf, and the receipt.
  expect(Hash.keccak256(Rlp.fromHex(["0x2080", receipt!]))).toBe(receiptsRoot);
});

test("returns no receipts for the pending block", async () => {
  expect(await node.ask("eth_getBlockReceipts", "pending")).toEqual([]);
  expect(await node.ask("debug_getRawReceipts", "pending")).toEqual([]);
  expect(await node.ask("eth_getBlockReceipts", "0xffff")).toBeNull();
});

test("accepts legacy, EIP-2930 and EIP-1559 transactions, and rejects other types and chains", async () => {
  const hashes = [];
  for (const type of ["legacy", "eip2930", "eip1559"] as const)
    hashes.push(await subject.wallet.send({ to: subject.caller, type }));
  expect((await node.anvil.mine()).transactions).toEqual(expect.arrayContaining(hashes));
  expect(await node.rejection("eth_sendRawTransaction", "0x03c0")).toEqual(rejected("transaction type not supported"));
  expect(await node.rejection("eth_sendRawTransaction", "0x02c0")).toMatchObject({ code: -32000 });
  expect(await node.rejection("eth_sendRawTransaction", subject.signed)).toEqual(rejected("nonce too low"));
  const nonce = Number(await node.ask<Hex>("eth_getTransactionCount", otherSender.address, "latest"));
  const transaction = { nonce, gas: 21_000n, to: sender.address, maxFeePerGas: 20_000_000_000n };
  const foreignTransaction = await otherSender.signTransaction({ ...transaction, chainId: 5 });
  const otherChain = rejected("invalid sender: invalid chain id for signer: have 5 want 1672");
  expect(await node.rejection("eth_sendRawTransaction", foreignTransaction)).toEqual(otherChain);
  const greedyTransaction = await otherSender.signTransaction({
    ...transaction,
    chainId: testChainId,
    gas: 40_000_000n,
  });
  expect(await node.rejection("eth_sendRawTransaction", greedyTransaction)).toEqual(
    rejected("exceeds block gas limit"),
  );
});

test("returns a block's proposer, read set and write set", async () => {
  const proposer = validatorAddresses[Number(subject.blockNumber) % 4];
  expect(await node.ask("eth_getProposersByBlockNumber", subject.blockNumber)).toEqual([proposer]);
  expect(await node.ask("eth_getProposerByTxHash", `0x${"00".repeat(32)}`)).toBeNull();
  const contract = subject.contract.toLowerCase();
  const slot = `0x${"00".repeat(32)}`;
  const read = await node.ask<{ states: object }>("debug_getBlockReadStates", subject.blockNumber);
  expect(read.states).toHaveProperty([contract, "storage", slot], slot);
  const write = await node.ask<{ states: object }>("debug_getBlockWriteStates", subject.blockNumber);
  expect(write.states).toHaveProperty([contract, "storage", slot], subject.written);
  const keys = await node.ask("debug_getBlockWriteSetKeys", subject.blockNumber);
  expect(keys).toEqual(expect.arrayContaining([sender.address.toLowerCase(), `${contract}${slot.slice(2)}`]));
});

test("returns geth's error codes for failed calls and missing blocks", async () => {
  expect(await node.rejection("eth_call", { data: "0xfe" }, "latest")).toMatchObject({ code: -32000 });
  const revertedRejection = await node.rejection("eth_call", { data: "0x602a60005260206000fd" }, "latest");
  expect(revertedRejection).toMatchObject({ code: 3, data: `0x${"2a".padStart(64, "0")}` });
  const missing = { code: -32000, message: "header not found" };
  expect(await node.rejection("eth_getBalance", sender.address, "0xffff")).toEqual(missing);
  expect(await node.rejection("debug_getRawHeader", "0xffff")).toEqual(missing);
  const genesis = { code: -32000, message: "genesis is not traceable" };
  expect(await node.rejection("debug_traceBlockByNumber", "0x0")).toEqual(genesis);
  const unknown = `0x${"00".repeat(32)}`;
  expect(await node.rejection("debug_traceTransaction", unknown)).toMatchObject({ message: "transaction not found" });
  for (const [method, ...params] of [
    ["eth_getBlockByNumber", "0xffff", false],
    ["eth_getTransactionByHash", unknown],
    ["eth_getTransactionReceipt", unknown],
    ["eth_getBlockTransactionCountByNumber", "0xffff"],
  ] as const)
    expect(await node.ask(method, ...params), method).toBeNull();
});

test("rejects tracers other than callTracer, and returns the transaction's gas", async () => {
  const options = { tracer: "prestateTracer" };
  const message = 'tracer "prestateTracer" is not supported: only callTracer is supported';
  for (const [method, ...params] of [
    ["debug_traceTransaction", subject.transaction, options],
    ["debug_traceCall", { to: subject.contract }, "latest", options],
    ["debug_traceBlockByHash", subject.blockHash, options],
    ["debug_traceBlockByNumber", subject.blockNumber, options],
  ] as const)
    expect(await node.rejection(method, ...params), method).toEqual({ code: -32602, message });
  const { gasUsed } = await node.ask<{ gasUsed: Hex }>("eth_getTransactionReceipt", subject.transaction);
  expect(await node.ask("debug_traceTransaction", subject.transaction)).toMatchObject({ gas: "0x493e0", gasUsed });
});

test("filters traces by address, offset and count over more blocks than anvil's limit", async () => {
  for (let blocks = 0; blocks < 260; blocks += 1) await node.anvil.mine();
  type Trace = { action: { from: string } };
  const all = await node.ask<Trace[]>("trace_filter", { fromBlock: "0x0", toBlock: "latest" });
  const from = { fromBlock: "0x1", toBlock: "latest", fromAddress: [sender.address] };
  const sent = await node.ask<Trace[]>("trace_filter", from);
  expect(new Set(sent.map(({ action }) => action.from))).toEqual(new Set([sender.address.toLowerCase()]));
  expect(await node.ask("trace_filter", { ...from, toAddress: [subject.caller], mode: "intersection" })).not.toEqual(
    [],
  );
  const part = { fromBlock: "0x0", toBlock: "latest", after: 1, count: 2 };
  expect(await node.ask("trace_filter", part)).toEqual(all.slice(1, 3));
  const reversed = { code: -32602, message: "invalid block range params" };
  expect(await node.rejection("trace_filter", { fromBlock: "0x2", toBlock: "0x1" })).toEqual(reversed);
});

test("reports a pruned block's state as missing", async () => {
  const message = expect.stringMatching(/^missing trie node/) as string;
  expect(await node.rejection("eth_getBalance", sender.address, subject.blockNumber)).toEqual({
    code: -32000,
    message,
  });
});

test("reports the commit and rejects batches over 20 calls in the public family's profile", async () => {
  await using family = await startTestNode({ profile: "pharos" });
  const commit = expect.stringMatching(/^[0-9a-f]{9}$/) as string;
  const one = { protocolVersion: "0x1", currentSpecVersion: "0x1" };
  expect(await family.ask("debug_protocolVersion")).toMatchObject({ binaryVersion: commit, ...one });
  expect(await family.ask("web3_clientVersion")).toMatch(/^pharos\/[0-9a-f]{9}\/linux$/);
  const countResults = async (length: number) => {
    const calls = Array.from({ length }, (_, id) => ({ jsonrpc: "2.0", id, method: "eth_blockNumber", params: [] }));
    const body = JSON.stringify(calls);
    const headers = { "content-type": "application/json" };
    const responses = (await (await fetch(family.rpc.httpUrl, { method: "POST", headers, body })).json()) as object[];
    return responses.filter((response) => "result" in response).length;
  };
  expect([await countResults(20), await countResults(21)]).toEqual([20, 0]);
});

test("serves only JSON over POST /, up to the body limit", async () => {
  const call = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';
  const send = async (body: string, type = "application/json", path = "") => {
    const response = await fetch(node.rpc.httpUrl + path, { method: "POST", headers: { "Content-Type": type }, body });
    return { status: response.status, text: await response.text() };
  };
  for (const type of ["application/json; charset=utf-8", "application/json-rpc"]) {
    expect(await send(call, type)).toEqual({ status: 200, text: '{"jsonrpc":"2.0","id":1,"result":"0x688"}' });
  }
  expect((await send(call, "text/plain")).status).toBe(415);
  expect((await send(call, "application/json", "/rpc")).status).toBe(404);
  expect((await fetch(node.rpc.httpUrl, { method: "PUT", body: call })).status).toBe(405);
  expect((await fetch(node.rpc.httpUrl)).status).toBe(200);
  expect((await send(" ".repeat(5 * 1024 * 1024 + 1))).status).toBe(413);
  const response = await fetch(node.rpc.webSocketUrl.replace("ws:", "http:"));
  expect([response.status, await response.text()]).toEqual([426, expect.stringContaining("WebSocket")]);
});
