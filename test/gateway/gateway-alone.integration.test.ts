import {
  createPublicClient,
  createTestClient,
  createWalletClient,
  defineChain,
  http,
  parseEther,
  webSocket,
} from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { call, post } from "#gateway/testing/test-gateway.ts";
import { startBareAnvil, type BareAnvil } from "../support/node/bare-anvil.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { runToEnd, startService, type ServiceProcess } from "../support/service-process.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

const chainId = 31_337;
const waitMs = generousMs;
const staleAfterMs = 1_000;
const batch = JSON.stringify([1, 2, 3].map((id) => ({ jsonrpc: "2.0", id, method: "eth_gasPrice", params: [] })));

describe("the gateway on its own in front of plain anvil", () => {
  let port: number;
  let anvil: BareAnvil;
  let gateway: ServiceProcess;
  let url: string;
  const account = privateKeyToAccount(generatePrivateKey());
  const chain = () =>
    defineChain({
      id: chainId,
      name: "Anvil",
      nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
      rpcUrls: { default: { http: [url] } },
    });
  const wallet = () => createWalletClient({ account, chain: chain(), transport: http(url) });
  const reader = () => createPublicClient({ chain: chain(), transport: http(url), pollingInterval: 100 });
  const pay = () => wallet().sendTransaction({ to: account.address, value: 1n });
  const operations = async (path: string) => {
    const response = await fetch(`${gateway.urls["operations"]}${path}`);
    return { status: response.status, text: await response.text() };
  };
  const isReady = async () => (await operations("/readyz")).status === 200;
  const fund = () =>
    createTestClient({ mode: "anvil", transport: http(anvil.url) }).setBalance({
      address: account.address,
      value: parseEther("1"),
    });

  beforeAll(async () => {
    [port = 0] = await findFreePorts(1);
    anvil = await startBareAnvil(port, chainId);
    const env = {
      GATEHOUSE_GATEWAY_NODE_HTTP_URL: anvil.url,
      GATEHOUSE_GATEWAY_NODE_CHAIN_ID: String(chainId),
      GATEHOUSE_GATEWAY_PUBLIC_PORT: "0",
      GATEHOUSE_GATEWAY_LISTEN_PORT: "0",
      GATEHOUSE_GATEWAY_HEALTH_INTERVAL_MS: "50",
      GATEHOUSE_GATEWAY_HEALTH_STALE_AFTER_MS: String(staleAfterMs),
      GATEHOUSE_GATEWAY_LIMITS_BATCH_ITEMS: "2",
      GATEHOUSE_GATEWAY_METHODS: '{ debug_getBlockProof: { audience: "public" } }',
    };
    gateway = await startService("gateway", env, { constants: { "head.tellAgeAfterMs": staleAfterMs } });
    url = gateway.urls["gateway"] ?? "";
    await fund();
    await until("it is ready", waitMs, isReady);
  }, 2 * waitMs);
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await anvil[Symbol.asyncDispose]();
  });

  it("serves viem over HTTP: a payment, its receipt and the changed balance", async () => {
    const hash = await pay();
    const receipt = await reader().waitForTransactionReceipt({ hash });
    expect(receipt.status).toBe("success");
    expect(await reader().getTransactionCount({ address: account.address })).toBe(1);
    expect(await reader().getChainId()).toBe(chainId);
  });

  it("starts without warnings in front of a healthy node", () => {
    const warnedGateway = gateway
      .output()
      .split("\n")
      .filter((line) => /"log.level":"(?:warn|error|fatal)"/.test(line));
    expect(warnedGateway).toEqual([]);
  });

  it("logs its connection limit", () => {
    expect(gateway.output()).toMatch(/file descriptors are open, 0 of at most [1-9]\d* connections/);
    expect(gateway.output()).not.toContain("at most 0 connections");
  });

  it("notifies viem of new blocks over WebSocket", async () => {
    const client = createPublicClient({ chain: chain(), transport: webSocket(url.replace("http", "ws")) });
    const seen: bigint[] = [];
    const stop = client.watchBlockNumber({ onBlockNumber: (number) => void seen.push(number) });
    // The subscription may not exist yet when the first block is produced.
    await until("a block arrives", waitMs, async () => {
      await pay();
      return seen.length > 0;
    });
    expect(await client.getBlockNumber()).toBe(seen.at(-1));
    stop();
    await (await client.transport.getRpcClient()).close();
  });

  it("enforces its limits: log ranges, batches and unavailable methods", async () => {
    await expect(reader().getLogs({ fromBlock: 0n, toBlock: 500n })).rejects.toThrow("limited to 100 blocks");
    expect((await post(url, batch)).text).toContain("batch too large");
    const { error } = await call(url, "anvil_setBalance", [account.address, "0x1"]);
    expect(error).toEqual({ code: -32_601, message: "the method anvil_setBalance does not exist/is not available" });
  });

  it("forwards the node's error for a method the node lacks", async () => {
    const direct = await call(anvil.url, "debug_getBlockProof", ["latest"]);
    expect(direct.error?.code).toBe(-32_601);
    expect(await call(url, "debug_getBlockProof", ["latest"])).toEqual(direct);
  });

  it("serves a chain that stopped producing blocks, and reports when it stopped", async () => {
    const hasReason = async (reasons: readonly string[]) => {
      const { conditions } = JSON.parse((await operations("/status")).text) as {
        conditions: readonly { type: string; reason: string }[];
      };
      return conditions.some(({ type, reason }) => type === "HeightAdvancing" && reasons.includes(reason));
    };
    // If earlier tests took long, blocks have arrived steadily, so the chain does not count as idle until a block is late.
    await until("a block is late", waitMs, () => hasReason(["Quiet", "NoNewBlock"]));
    await pay();
    await until("the new block is detected", waitMs, () => hasReason(["Advancing"]));
    await until("no block arrived for a long time", waitMs, () => hasReason(["Quiet"]));
    const response = await post(url, '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}');
    expect(response.text).toMatch(/"result":"0x[0-9a-f]+"/);
    expect(Number(response.headers.get("x-gatehouse-head-age"))).toBeGreaterThanOrEqual(1);
    expect(await isReady()).toBe(true);
    expect((await operations("/livez")).status).toBe(200);
    const { text } = await operations("/metrics");
    expect(text).toMatch(/^gatehouse_gateway_head_age_seconds [\d.]+$/m);
    expect(text).toMatch(/^gatehouse_condition\{type="RpcResponding"\} 1$/m);
    const status = JSON.parse((await operations("/status")).text) as { healthy: boolean; node: { rpc: string } };
    expect(status).toMatchObject({
      healthy: true,
      node: { rpc: anvil.url, chainId },
      service: "gateway",
      headline: { state: "Partly unknown" },
      figures: { rpc: { old: false } },
    });
    expect(await operations("/")).toMatchObject({ status: 200, text: expect.stringContaining("<title>Gatehouse") });
  });

  it("reports a node outage immediately, and recovers with the node, even if its chain was reset", async () => {
    await anvil[Symbol.asyncDispose]();
    await until("it is not ready", waitMs, async () => !(await isReady()));
    expect((await call(url, "eth_getBalance", [account.address, "latest"])).error).toEqual({
      code: -32_603,
      message: "the node is not responding; try again later",
    });
    anvil = await startBareAnvil(port, chainId);
    await until("it is ready", waitMs, isReady);
    expect(await reader().getBlockNumber()).toBe(0n);
    await fund();
    await reader().waitForTransactionReceipt({ hash: await pay() });
    // Its WebSocket to the node may not be open again yet; until then, it polls the head.
    await until("it knows the new head", waitMs, async () => (await reader().getBlockNumber()) === 1n);
  });
});

it("lists missing required settings", async () => {
  const { status, stderr } = await runToEnd("gateway", {});
  expect(status).toBe(1);
  expect(stderr).toContain("GATEHOUSE_GATEWAY_NODE_HTTP_URL");
  expect(stderr).toContain("GATEHOUSE_GATEWAY_NODE_CHAIN_ID");
});
