import { JsonRpcProvider, type JsonRpcPayload } from "ethers";
import { createPublicClient, http, type Hex } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { encodeCreation, createWallet, sender, startTestNode, type TestNode } from "#devnet/testing/rpc-fixture.ts";

let node: TestNode;
beforeAll(async () => {
  node = await startTestNode();
});
afterAll(() => node[Symbol.asyncDispose]());

const contract: Hex = `0x${"c0".repeat(20)}`;
const callee: Hex = `0x${"ca".repeat(20)}`;
const call = { from: sender.address, to: contract, gas: "0x186a0" };

/** Code that calls {@link callee} and stops. */
const outer: Hex = `0x6000600060006000600073${callee.slice(2)}611000f100`;

/** Code, and geth's result of running it. */
const halting: readonly (readonly [name: string, code: Hex, message: string])[] = [
  ["INVALID", "0xfe", "invalid opcode: INVALID"],
  ["an unknown opcode", "0x600c0c", "invalid opcode: opcode 0xc not defined"],
  ["an underflow of two items", "0x01", "stack underflow (0 <=> 2)"],
  ["an underflow of SWAP2", "0x6001600291", "stack underflow (2 <=> 3)"],
  ["an overflow", "0x5b58600056", "stack limit reached 1024 (1023)"],
  ["a jump into nothing", "0x600056", "invalid jump destination"],
  ["a loop without end", "0x5b600056", "out of gas"],
  ["memory beyond all bounds", "0x60016001600160ff1b52", "gas uint64 overflow"],
];

/** The error of a call that differs from {@link call}; empty if there is none. */
async function refusal(more: object): Promise<object> {
  return (await node.refusal("eth_call", { ...call, ...more })) ?? {};
}

function overriding(code: Hex): Record<Hex, { code: Hex }> {
  return { [contract]: { code } };
}

test.each(halting)("a call that ends with %s is refused with geth's code and text", async (_, code, message) => {
  expect(await node.refusal("eth_call", call, "latest", overriding(code))).toEqual({ code: -32000, message });
});

test.each(halting)("gas for a call that ends with %s can't be estimated", async (_, code, message) => {
  const short = ["out of gas", "gas uint64 overflow"].includes(message);
  const expected = short ? "gas required exceeds allowance (100000)" : message;
  expect(await node.refusal("eth_estimateGas", call, "latest", overriding(code))).toEqual({
    code: -32000,
    message: expected,
  });
});

test.each(halting)(
  "a trace shows %s by geth's text, in the call itself and in a call within",
  async (_, code, error) => {
    const tracer = { tracer: "callTracer", stateOverrides: overriding(code) };
    expect(await node.ask("debug_traceCall", call, "latest", tracer)).toMatchObject({ error, type: "CALL" });
    const stateOverrides = { [contract]: { code: outer }, [callee]: { code } };
    const trace = await node.ask("debug_traceCall", { ...call, gas: "0x989680" }, "latest", { stateOverrides });
    expect(trace).not.toHaveProperty("error");
    expect(trace).toMatchObject({
      calls: [{ to: callee, error: error === "stack limit reached 1024 (1023)" ? "out of gas" : error }],
    });
  },
);

test("a call within a static call may write nothing", async () => {
  const code: Hex = `0x600060006000600073${callee.slice(2)}611000fa00`;
  const stateOverrides = { [contract]: { code }, [callee]: { code: "0x6001600055" } };
  const trace = await node.ask("debug_traceCall", call, "latest", { stateOverrides });
  expect(trace).toMatchObject({ calls: [{ type: "STATICCALL", error: "write protection" }] });
});

test("a trace of a halted transaction is the same by transaction, by block and of the outermost call alone", async () => {
  const wallet = await createWallet(node);
  const transaction = await wallet.send({ data: "0x600190" });
  const block = await node.anvil.mine();
  const error = "stack underflow (1 <=> 2)";
  const trace = await node.ask("debug_traceTransaction", transaction);
  expect(trace).toMatchObject({ type: "CREATE", error, gasUsed: "0x493e0" });
  const alone = { tracer: "callTracer", tracerConfig: { onlyTopCall: true } };
  expect(await node.ask("debug_traceTransaction", transaction, alone)).toMatchObject({ error });
  expect(await node.ask("debug_traceBlockByNumber", block.number)).toEqual([{ txHash: transaction, result: trace }]);
});

test("creations that may not be are refused with geth's texts", async () => {
  expect(await refusal({ to: null, data: "0x60ef60005360016000f3" })).toMatchObject({
    message: "invalid code: must not begin with 0xef",
  });
  expect(await refusal({ to: null, data: "0x6160016000f3" })).toMatchObject({ message: "max code size exceeded" });
  expect(await refusal({ to: null, data: encodeCreation("0x00") })).toEqual({});
});

test("a revert has code 3 and its bytes, with the reason in the message", async () => {
  const reason = `08c379a0${"20".padStart(64, "0")}${"2".padStart(64, "0")}6e6f${"0".repeat(60)}`;
  const bytes = reason.length / 2;
  const code: Hex = `0x60${bytes.toString(16)}600c60003960${bytes.toString(16)}6000fd${reason}`;
  for (const method of ["eth_call", "eth_estimateGas"]) {
    expect(await node.refusal(method, call, "latest", overriding(code))).toEqual({
      code: 3,
      message: "execution reverted: no",
      data: `0x${reason}`,
    });
  }
});

test("a contract's own error is in the data, and not in the message", async () => {
  expect(
    await node.refusal(
      "eth_call",
      call,
      "latest",
      overriding("0x7f312343540000000000000000000000000000000000000000000000000000000060005260046000fd"),
    ),
  ).toEqual({
    code: 3,
    message: "execution reverted",
    data: "0x31234354",
  });
});

test("a call with too little gas to begin is refused", async () => {
  for (const method of ["eth_call", "eth_createAccessList", "debug_traceCall"]) {
    expect(await node.refusal(method, { ...call, gas: "0x5207" }, "latest"), method).toEqual({
      code: -32000,
      message: "intrinsic gas too low",
    });
  }
});

test("a traced call shows the gas that it was given", async () => {
  const { gasLimit } = await node.ask<{ gasLimit: Hex }>("eth_getBlockByNumber", "latest", false);
  const { to } = call;
  expect(await node.ask("debug_traceCall", { to, data: "0x00ff" }, "latest")).toMatchObject({ gas: gasLimit });
  expect(await node.ask("debug_traceCall", { to, gas: "0x6000" }, "latest")).toMatchObject({ gas: "0x6000" });
});

test("the access list of a call that fails shows what it touched and why it failed", async () => {
  const code: Hex = "0x60015450fe";
  const list = await node.ask<{ gasUsed: Hex }>("eth_createAccessList", call, "latest", overriding(code));
  expect(list).toEqual({
    accessList: [{ address: contract, storageKeys: [`0x${"1".padStart(64, "0")}`] }],
    error: "invalid opcode: INVALID",
    gasUsed: call.gas,
  });
  const reverting = await node.ask("eth_createAccessList", call, "latest", overriding("0x60006000fd"));
  expect(reverting).toMatchObject({ accessList: [], error: "execution reverted" });
});

test("a call that contradicts itself, or that its sender can't pay, is refused as geth refuses it", async () => {
  expect(await refusal({ data: "0x01", input: "0x02" })).toEqual({
    code: -32000,
    message: 'both "data" and "input" are set and not equal. Please use "input" to pass transaction call data',
  });
  const traced = await node.refusal("debug_traceCall", { ...call, data: "0x01", input: "0x02" }, "latest");
  expect(traced).toMatchObject({ code: -32000, message: expect.stringContaining('both "data" and "input" are set') });
  expect(await refusal({ data: "0xab", input: "0xAB" })).toEqual({});
  expect(await refusal({ gasPrice: "0x1", maxFeePerGas: "0x1" })).toEqual({
    code: -32000,
    message: "both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified",
  });
  expect(await refusal({ maxFeePerGas: "0x1", maxPriorityFeePerGas: "0x2" })).toEqual({
    code: -32000,
    message: "maxFeePerGas (1) < maxPriorityFeePerGas (2)",
  });
  const poor = { from: `0x${"99".repeat(20)}`, to: callee, value: "0x1" };
  for (const method of ["eth_call", "eth_estimateGas"]) {
    expect(await node.refusal(method, poor), method).toMatchObject({
      code: -32000,
      message: expect.stringContaining("insufficient funds"),
    });
  }
});

test("viem asks once and shows what the node said", async () => {
  let requests = 0;
  const fetchFn: typeof fetch = (...args) => {
    requests += 1;
    return fetch(...args);
  };
  const client = createPublicClient({ transport: http(node.rpc.httpUrl, { fetchFn }) });
  const stateOverride = [{ address: contract, code: "0xfe" as const }];
  const failed = await client.call({ to: contract, stateOverride }).catch((error: unknown) => error);
  expect(String(failed)).toContain("Details: invalid opcode: INVALID");
  expect(requests).toBe(1);
});

test("ethers asks once and shows what the node said", async () => {
  let requests = 0;
  class CountingProvider extends JsonRpcProvider {
    override async _send(payload: JsonRpcPayload | JsonRpcPayload[]) {
      requests += 1;
      return super._send(payload);
    }
  }
  const provider = new CountingProvider(node.rpc.httpUrl, 1672, { staticNetwork: true });
  const asked = provider.send("eth_call", [call, "latest", overriding("0xfe")]);
  await expect(asked).rejects.toMatchObject({
    code: "CALL_EXCEPTION",
    info: { error: { code: -32000, message: "invalid opcode: INVALID" } },
  });
  expect(requests).toBe(1);
  provider.destroy();
});
