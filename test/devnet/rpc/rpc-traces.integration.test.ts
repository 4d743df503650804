import type { Hex } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSubject, type TestSubject } from "#devnet/testing/rpc-subject.ts";
import { sender, startTestNode, type TestNode } from "#devnet/testing/rpc-fixture.ts";

let node: TestNode;
let subject: TestSubject;
beforeAll(async () => {
  node = await startTestNode();
  subject = await createSubject(node);
});
afterAll(() => node[Symbol.asyncDispose]());

function callTracer(tracerConfig: object): object {
  return { tracer: "callTracer", tracerConfig };
}

test("only callTracer traces, wherever a tracer may be named", async () => {
  const options = { tracer: "prestateTracer" };
  const message = 'tracer "prestateTracer" is not supported: only callTracer is supported';
  for (const [method, ...params] of [
    ["debug_traceTransaction", subject.transaction, options],
    ["debug_traceCall", { to: subject.contract }, "latest", options],
    ["debug_traceBlockByHash", subject.blockHash, options],
    ["debug_traceBlockByNumber", subject.blockNumber, options],
  ] as const) {
    expect(await node.refusal(method, ...params), method).toEqual({ code: -32602, message });
  }
});

test("a trace shows the transaction's own gas, and inner calls and logs on request", async () => {
  const data: Hex = `0x${subject.contract.slice(2).padStart(64, "0")}${"22".repeat(32)}`;
  const transaction = await subject.wallet.send({ to: subject.caller, data });
  const block = await node.anvil.mine();
  const { gasUsed } = await node.ask<{ gasUsed: Hex }>("eth_getTransactionReceipt", transaction);
  const full = await node.ask("debug_traceTransaction", transaction, callTracer({ withLog: true }));
  expect(full).toMatchObject({
    gas: "0x493e0",
    gasUsed,
    calls: [{ type: "CALL", logs: [{ topics: [`0x${"aa".padStart(64, "0")}`] }] }],
  });
  expect(await node.ask("debug_traceTransaction", transaction, callTracer({ onlyTopCall: true }))).not.toHaveProperty(
    "calls",
  );
  expect(await node.ask("debug_traceBlockByNumber", block.number)).toEqual([
    { txHash: transaction, result: await node.ask("debug_traceTransaction", transaction) },
  ]);
});

test("the genesis has nothing that could be traced, and a block that is not there is named", async () => {
  const { hash } = await node.ask<{ hash: Hex }>("eth_getBlockByNumber", "0x0", false);
  const genesis = { code: -32000, message: "genesis is not traceable" };
  expect(await node.refusal("debug_traceBlockByNumber", "0x0")).toEqual(genesis);
  expect(await node.refusal("debug_traceBlockByNumber", "earliest", callTracer({}))).toEqual(genesis);
  expect(await node.refusal("debug_traceBlockByHash", hash)).toEqual(genesis);
  expect(await node.refusal("debug_traceBlockByNumber", "0xffff")).toEqual({
    code: -32000,
    message: "block #65535 not found",
  });
  const unknown = `0x${"ab".repeat(32)}`;
  expect(await node.refusal("debug_traceBlockByHash", unknown)).toEqual({
    code: -32000,
    message: `block ${unknown} not found`,
  });
});

test("trace_filter filters by sender and receiver, skips and counts", async () => {
  type Trace = { action: { from: string; to?: string } };
  const all = await node.ask<Trace[]>("trace_filter", { fromBlock: "0x0", toBlock: "latest" });
  const inner = await node.ask<Trace[]>("trace_filter", {
    fromBlock: "0x1",
    toBlock: "latest",
    fromAddress: [subject.caller],
  });
  expect(inner.map(({ action }) => action.from)).toEqual(inner.map(() => subject.caller.toLowerCase()));
  const both = { fromBlock: "0x1", toBlock: "latest", fromAddress: [subject.caller], toAddress: [subject.caller] };
  expect(await node.ask("trace_filter", { ...both, mode: "union" })).toEqual(await node.ask("trace_filter", both));
  expect(await node.ask("trace_filter", { ...both, mode: "intersection" })).toEqual([]);
  expect(await node.ask("trace_filter", { fromBlock: "0x0", toBlock: "latest", after: 1, count: 2 })).toEqual(
    all.slice(1, 3),
  );
  expect(await node.ask("trace_filter", { count: 0 })).toEqual([]);
  expect(await node.refusal("trace_filter", { fromBlock: "0x2", toBlock: "0x1" })).toEqual({
    code: -32602,
    message: "invalid block range params",
  });
});

test("a transaction is traced and read after its state is pruned, too", async () => {
  const before = await node.ask("debug_traceTransaction", subject.transaction);
  for (let blocks = 0; blocks < 135; blocks += 1) await node.anvil.mine();
  expect(await node.ask("debug_traceTransaction", subject.transaction)).toEqual(before);
  expect(await node.ask("eth_getTransactionReceipt", subject.transaction)).toMatchObject({ status: "0x1" });
  const { stateRoot } = await node.ask<{ stateRoot: Hex }>("eth_getBlockByNumber", subject.blockNumber, false);
  const message = `missing trie node ${stateRoot.slice(2)} (path ) state ${stateRoot} is not available`;
  expect(await node.refusal("eth_getBalance", sender.address, subject.blockNumber)).toEqual({ code: -32000, message });
  const withLog = { tracer: "callTracer", tracerConfig: { withLog: true } };
  expect(await node.refusal("debug_traceTransaction", subject.transaction, withLog)).toMatchObject({ code: -32000 });
});
