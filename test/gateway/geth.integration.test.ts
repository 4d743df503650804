import { createPublicClient, http, webSocket, type Hex } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, post } from "#gateway/testing/test-gateway.ts";
import { findProgram } from "../support/find-program.ts";
import { gethChainId, startGeth, type Geth } from "../support/node/geth.ts";
import { startService, type ServiceProcess } from "../support/service-process.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

const program = findProgram("geth");
const skipped = program === undefined ? " (skipped: no geth on PATH; https://geth.ethereum.org/downloads has it)" : "";

/** Logs one word and returns it: 42. */
const runtime = "602a60005260206000a060206000f3";
const creation = `0x6e${runtime}600052600f6011f3` as const;

/** Objects on the chain that reads refer to. */
type Seen = Readonly<{ account: Hex; contract: Hex; block: Hex; blockHash: Hex; transaction: Hex }>;

/** Reads of the catalogue to which the node itself responds, valid and invalid ones, at a finalized block. */
const reads = ({ account, contract, block, blockHash, transaction }: Seen): readonly [string, ...unknown[]][] => [
  ["eth_chainId"],
  ["net_version"],
  ["web3_clientVersion"],
  ["eth_syncing"],
  ["eth_getBalance", account, block],
  ["eth_getBalance", account, { blockNumber: block }],
  ["eth_getBalance", account, { blockHash, requireCanonical: true }],
  ["eth_getBalance", account, "earliest"],
  ["eth_getBalance", account, "bogus"],
  ["eth_getBalance", account, "0xffffffff"],
  ["eth_getBalance", account, block, 1],
  ["eth_getBalance", "0x12", block],
  ["eth_getCode", contract, block],
  ["eth_getStorageAt", contract, "0x0", block],
  ["eth_getTransactionCount", account, block],
  ["eth_getProof", account, ["0x0"], block],
  ["eth_getBlockByNumber", block, true],
  ["eth_getBlockByNumber", block, false],
  ["eth_getBlockByNumber", block],
  ["eth_getBlockByNumber", "0xfffffff", false],
  ["eth_getBlockByHash", blockHash, true],
  ["eth_getBlockByHash", `0x${"11".repeat(32)}`, false],
  ["eth_getBlockReceipts", block],
  ["eth_getBlockTransactionCountByHash", blockHash],
  ["eth_getTransactionByHash", transaction],
  ["eth_getTransactionByHash", `0x${"22".repeat(32)}`],
  ["eth_getTransactionReceipt", transaction],
  ["eth_getTransactionByBlockNumberAndIndex", block, "0x0"],
  ["eth_call", { to: contract }, block],
  ["eth_call", { to: contract }, { blockHash }],
  ["eth_call", { to: contract }, "latest", { [contract]: { code: "0x60016000526001601ff3" } }],
  ["eth_call", { data: "0x60006000fd" }, block],
  ["eth_call", { data: "0xfe" }, block],
  ["eth_call"],
  ["eth_estimateGas", { to: contract, from: account }, block],
  ["eth_estimateGas", { data: "0x60006000fd" }],
  ["eth_createAccessList", { to: contract }, block],
  ["eth_feeHistory", "0x2", block, [25, 75]],
  ["eth_feeHistory", "0x2", block, [75, 25]],
  ["eth_feeHistory", 2, block, []],
  ["eth_feeHistory", "2", block, []],
  ["eth_getLogs", { fromBlock: block, toBlock: block }],
  ["eth_getLogs", { blockHash }],
  ["eth_getLogs", { address: contract, fromBlock: block, toBlock: block }],
  ["eth_sendRawTransaction", "0x"],
  ["eth_sendRawTransaction", "0x02f8"],
  ["debug_traceTransaction", transaction, { tracer: "callTracer" }],
  ["debug_traceBlockByNumber", block, { tracer: "callTracer" }],
];

const chainIdCall = { jsonrpc: "2.0", id: 1, method: "eth_chainId", params: [] };

const messages: Readonly<Record<string, string>> = {
  "an empty batch": "[]",
  "half a message": "{",
  "no method": '{"jsonrpc":"2.0","id":1}',
  "no version": '{"id":1,"method":"eth_chainId"}',
  "a text ID": '{"jsonrpc":"2.0","id":"a\\u00e9","method":"eth_chainId","params":[]}',
  "no id": '{"jsonrpc":"2.0","method":"eth_chainId","params":[]}',
  "an id that is null": '{"jsonrpc":"2.0","id":null,"method":"eth_chainId","params":[]}',
  "an id with a fraction": '{"jsonrpc":"2.0","id":1.5,"method":"eth_chainId"}',
  "an id beyond 2^64": '{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"eth_chainId"}',
  "an id that is an object": '{"jsonrpc":"2.0","id":{},"method":"eth_chainId"}',
  "params that are null": '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":null}',
  "params that are an object": '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":{}}',
  "params that are text": '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":"x"}',
  "a method that exists nowhere": '{"jsonrpc":"2.0","id":1,"method":"eth_nothing"}',
  "a batch of valid and invalid calls": `[1,${JSON.stringify(chainIdCall)},{},{"jsonrpc":"2.0","id":2,"method":"eth_nothing"}]`,
  "a batch without ids": '[{"jsonrpc":"2.0","method":"eth_chainId"}]',
};

describe.skipIf(program === undefined)(`the gateway in front of geth${skipped}`, { timeout: 3 * generousMs }, () => {
  let geth: Geth;
  let gateway: ServiceProcess;
  let url: string;
  let seen: Seen;

  /** Makes geth's own account send a transaction, and waits for its block. */
  const send = async (account: Hex, transaction: Readonly<Record<string, string>>) => {
    const { result } = await call(geth.url, "eth_sendTransaction", [{ from: account, ...transaction }]);
    const client = createPublicClient({ transport: http(geth.url), pollingInterval: 200 });
    return client.waitForTransactionReceipt({ hash: result as Hex });
  };

  beforeAll(async () => {
    if (program === undefined) return;
    geth = await startGeth(program);
    gateway = await startService("gateway", {
      GATEHOUSE_GATEWAY_NODE_HTTP_URL: geth.url,
      GATEHOUSE_GATEWAY_NODE_WEB_SOCKET_URL: geth.webSocketUrl,
      GATEHOUSE_GATEWAY_NODE_CHAIN_ID: String(gethChainId),
      GATEHOUSE_GATEWAY_PUBLIC_PORT: "0",
      GATEHOUSE_GATEWAY_LISTEN_PORT: "0",
    });
    url = gateway.urls["gateway"] ?? "";
    const { result } = await call(geth.url, "eth_accounts");
    const [account] = result as [Hex];
    const { contractAddress } = await send(account, { data: creation, gas: "0x30000" });
    if (typeof contractAddress !== "string") throw new Error("geth created no contract");
    const { blockHash, blockNumber, transactionHash } = await send(account, { to: contractAddress, gas: "0x20000" });
    const block = `0x${blockNumber.toString(16)}` as const;
    seen = { account, contract: contractAddress, block, blockHash, transaction: transactionHash };
    await until("the gateway knows that block", generousMs, async () => {
      const { result: head } = await call(url, "eth_blockNumber");
      return BigInt(head as string) >= blockNumber;
    });
  }, 3 * generousMs);
  afterAll(async () => {
    await gateway?.[Symbol.asyncDispose]();
    await geth?.[Symbol.asyncDispose]();
  });

  test("returns the same results and errors as geth, individually and in a batch", async () => {
    const calls = reads(seen).map(([method, ...params], at) => ({ jsonrpc: "2.0", id: at, method, params }));
    for (const one of calls) {
      const [own, through] = [await post(geth.url, JSON.stringify(one)), await post(url, JSON.stringify(one))];
      expect({ call: one, ...JSON.parse(through.text) }).toEqual({ call: one, ...JSON.parse(own.text) });
    }
    const [own, through] = [await post(geth.url, JSON.stringify(calls)), await post(url, JSON.stringify(calls))];
    expect(JSON.parse(through.text)).toEqual(JSON.parse(own.text));
  });

  test("handles messages in unusual forms like geth", async () => {
    for (const [form, message] of Object.entries(messages)) {
      const [own, through] = [await post(geth.url, message), await post(url, message)];
      expect({ form, status: through.status, text: through.text.trim() }).toEqual({
        form,
        status: own.status,
        text: own.text.trim(),
      });
    }
  });

  test("notifies viem of each new block and of logs over WebSocket", async () => {
    const client = createPublicClient({ transport: webSocket(url.replace("http", "ws")) });
    const blocks: bigint[] = [];
    const logs: unknown[] = [];
    const stops = [
      client.watchBlockNumber({ onBlockNumber: (number) => void blocks.push(number) }),
      client.watchEvent({ address: seen.contract, onLogs: (some) => void logs.push(...some) }),
    ];
    await until("a block comes", generousMs, () => blocks.length > 0);
    await until("a log comes", generousMs, async () => {
      await send(seen.account, { to: seen.contract, gas: "0x20000" });
      return logs.length > 0;
    });
    const [first = 0n] = blocks;
    expect(blocks).toEqual(blocks.map((_, at) => first + BigInt(at)));
    for (const stop of stops) stop();
    await (await client.transport.getRpcClient()).close();
  });
});
