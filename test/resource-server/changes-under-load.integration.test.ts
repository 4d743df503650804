import { hash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { limitlessTier } from "#gateway/testing/limitless-tier.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { startFacilitator } from "../support/facilitator/running-facilitator.ts";
import { startService, type ServiceProcess } from "../support/service-process.ts";
import {
  openMarket,
  findOperationsUrl,
  signPaymentFor,
  createTemporaryFolder,
  findUrl,
} from "../support/payments/shop.ts";

/** Callers that each send their next request this long after a response: up to 200 requests per second, on a slow machine fewer. */
const [callers, pauseMs] = [10, 50];
/** Requests sent before each change. */
const requestsPerChange = 30;
const webSockets = 50;
const key = "the-key-of-a-caller-under-load";

const resources = new AsyncDisposableStack();
let folder: string;
let gateway: ServiceProcess;
let shop: ServiceProcess;
let upstream: string;

const sha256 = (text: string) => hash("sha256", text);
const tiers = { public: { ...limitlessTier, webSockets: 1_000 }, paid: limitlessTier };
const policy = (sections: object) => JSON.stringify({ tiers, ...sections });
const keys = (...others: readonly string[]) =>
  JSON.stringify({ keys: [key, ...others].map((one, at) => ({ name: `k${at}`, sha256: sha256(one), tier: "paid" })) });
const routes = (price: string) =>
  JSON.stringify({
    "GET /data": { accepts: { scheme: "exact", price, network: "eip155:1672" }, upstream: `${upstream}/data` },
  });

beforeAll(async () => {
  const market = resources.use(await openMarket());
  const place = resources.use(await createTemporaryFolder());
  folder = place.path;
  upstream = market.upstream.url;
  await writeFile(join(folder, "policy.json5"), policy({}));
  await writeFile(join(folder, "keys.json5"), keys());
  // The facilitator has its own process, because the load keeps this one busy.
  const settling = { rpcUrl: market.chain.url, token: market.chain.token, ledgerPath: join(folder, "settler.sqlite") };
  const settler = resources.use(await startFacilitator(settling));
  shop = resources.use(await market.openShop(folder, { GATEHOUSE_RESOURCE_SERVER_FACILITATOR_URL: settler.url }));
  await writeFile(join(folder, "routes.json5"), routes("0.01"));
  gateway = resources.use(
    await startService("gateway", {
      GATEHOUSE_GATEWAY_NODE_HTTP_URL: market.chain.url,
      GATEHOUSE_GATEWAY_NODE_CHAIN_ID: "1672",
      GATEHOUSE_GATEWAY_PUBLIC_PORT: "0",
      GATEHOUSE_GATEWAY_PRIVATE_ENABLED: "true",
      GATEHOUSE_GATEWAY_PRIVATE_PORT: "0",
      GATEHOUSE_GATEWAY_LISTEN_PORT: "0",
      GATEHOUSE_GATEWAY_POLICY_PATH: join(folder, "policy.json5"),
      GATEHOUSE_GATEWAY_CALLERS_KEYS_PATH: join(folder, "keys.json5"),
    }),
  );
  const readyz = `${gateway.urls["operations"]}/readyz`;
  await until("the gateway is ready", generousMs, async () => (await fetch(readyz)).status === 200);
});
afterAll(() => resources.disposeAsync());

const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_blockNumber", params: [] });

async function callGateway(listener: string, headers: Readonly<Record<string, string>> = {}): Promise<void> {
  const url = gateway.urls[listener] ?? "";
  const init = { method: "POST", body, headers: { "Content-Type": "application/json", ...headers } };
  const answer = await fetch(url, init);
  const text = await answer.text();
  if (answer.status !== 200 || !text.includes('"result"')) throw new Error(`${listener}: ${answer.status} ${text}`);
}

async function askPrice(): Promise<void> {
  const { status } = await fetch(`${findUrl(shop)}/data`);
  if (status !== 402) throw new Error(`an unpaid request returned ${status}`);
}

/** Buys at a price that changed after it was requested. */
async function buy(signed: () => void, changed: Promise<void>): Promise<void> {
  const payment = await signPaymentFor(`${findUrl(shop)}/data`).finally(signed);
  await changed;
  const answer = await fetch(`${findUrl(shop)}/data`, { headers: { "PAYMENT-SIGNATURE": payment } });
  if (answer.status !== 200) throw new Error(`a purchase returned ${answer.status} ${await answer.text()}`);
}

const kinds = [
  () => callGateway("gateway"),
  () => callGateway("gateway-private", { Authorization: `Bearer ${key}` }),
  () => callGateway("gateway"),
  askPrice,
];

/** Waits until that file is active in a service. */
async function waitUntilActive(operations: string, file: string, text: string): Promise<void> {
  await until(`${file} is in force`, generousMs, async () => {
    const answer = (await (await fetch(`${operations}/configuration`)).json()) as {
      files: readonly { path: string; sha256: string; rejected?: string }[];
    };
    const found = answer.files.find(({ path }) => path.endsWith(file));
    return found?.sha256 === sha256(text) && found.rejected === undefined;
  });
}

it("ten configuration changes under load fail no request and close no WebSocket", async () => {
  const failures: string[] = [];
  const send = (one: () => Promise<void>) => one().catch((error: unknown) => void failures.push(String(error)));
  const sockets = await Promise.all(
    Array.from({ length: webSockets }, async () => {
      const socket = new WebSocket((gateway.urls["gateway"] ?? "").replace("http", "ws"));
      await new Promise((resolve, reject) => {
        socket.addEventListener("open", resolve, { once: true });
        socket.addEventListener("error", reject, { once: true });
      });
      socket.addEventListener("close", ({ code }) => failures.push(`a WebSocket was closed with ${code}`));
      return socket;
    }),
  );
  const answered = new Set<number>();
  let asked = 0;
  const over = new AbortController();
  using _stopped = { [Symbol.dispose]: () => over.abort() };
  const calling = Array.from({ length: callers }, async () => {
    while (!over.signal.aborted) {
      asked += 1;
      await send(kinds[asked % kinds.length] ?? askPrice);
      await delay(pauseMs);
    }
  });
  const bought: Promise<void>[] = [];

  const gatewayOperations = gateway.urls["operations"] ?? "";
  const changes = [
    [gatewayOperations, "policy.json5", policy({ ranges: { logsBlocks: 50 } })],
    [findOperationsUrl(shop), "routes.json5", routes("0.02")],
    [gatewayOperations, "keys.json5", keys("another key")],
    [gatewayOperations, "policy.json5", policy({ limits: { batchItems: 10 } })],
    [findOperationsUrl(shop), "routes.json5", routes("0.03")],
    [gatewayOperations, "policy.json5", policy({ methods: { net_listening: { audience: "public" } } })],
    [gatewayOperations, "keys.json5", keys()],
    [gatewayOperations, "policy.json5", policy({ accessLog: { slowMs: 1 } })],
    [findOperationsUrl(shop), "routes.json5", routes("0.01")],
    [gatewayOperations, "policy.json5", policy({ overload: { heavyParallel: 8 } })],
  ] as const;
  expect(changes).toHaveLength(10);
  for (const [operations, file, text] of changes) {
    const [signed, changed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    if (file === "routes.json5") bought.push(send(() => buy(signed.resolve, changed.promise)));
    else signed.resolve();
    const due = asked + requestsPerChange;
    await until("the requests are sent", generousMs, () => asked >= due);
    await signed.promise;
    await writeFile(join(folder, file), text);
    await waitUntilActive(operations, file, text);
    changed.resolve();
  }
  over.abort();
  await Promise.all([...calling, ...bought]);
  sockets.forEach((socket, at) => {
    socket.addEventListener("message", () => answered.add(at), { once: true });
    socket.send(body);
  });
  await until("every WebSocket responds", generousMs, () => answered.size === webSockets || failures.length > 0);
  expect(failures).toEqual([]);
  for (const socket of sockets) {
    expect(socket.readyState).toBe(WebSocket.OPEN);
    socket.close();
  }
});
