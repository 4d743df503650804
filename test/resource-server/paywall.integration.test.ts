import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hastenService } from "../support/hastened-waits.ts";
import { runToEnd, type ServiceProcess } from "../support/service-process.ts";
import {
  openMarket,
  findOperationsUrl,
  payee,
  signPaymentFor,
  createTemporaryFolder,
  findUrl,
  type Market,
} from "../support/payments/shop.ts";
import { testAccount } from "../support/payments/payment-chain.ts";

let market: Market;
let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
let shop: ServiceProcess;

beforeAll(async () => {
  market = await openMarket();
  folder = await createTemporaryFolder();
  shop = await market.openShop(folder.path);
});

afterAll(async () => {
  await shop?.[Symbol.asyncDispose]();
  await folder?.[Symbol.asyncDispose]();
  await market?.[Symbol.asyncDispose]();
});

/** Sends a request as it stands, which `fetch` would tidy up; gives the status and all of the answer. */
async function raw(line: string, headers = ""): Promise<Readonly<{ status: number; answer: string }>> {
  const { port } = new URL(findUrl(shop));
  const socket = connect(Number(port), "127.0.0.1");
  await once(socket, "connect");
  socket.write(`${line} HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n${headers}\r\n`);
  const answer = await text(socket);
  return { status: Number(answer.split(" ")[1]), answer };
}

describe("ways around the payment", () => {
  it.each([
    "GET /data/",
    "GET //data",
    "GET /%64ata",
    "GET /data%2F",
    "GET /data%00",
    "GET /data;x",
    "GET /DATA",
    "GET /x/../data",
    "GET /./data",
    "GET /x/%2e%2e/data",
    "GET /data\\",
    "GET http://shop.test/data",
    "GET http://shop.test//data",
    "GET *",
    "HEAD /data",
    "OPTIONS /data",
    "POST /data",
    "DELETE /data",
    "TRACE /data",
    "PROPFIND /data",
    "get /data",
    "GET /api/info",
    "GET /",
    "GET /routes.json5",
  ])("%s reaches nothing", async (line) => {
    market.upstream.behave("data");
    const { status, answer } = await raw(line);
    expect([400, 402, 404, 405, 501]).toContain(status);
    expect([answer.includes("sold"), market.upstream.hits()]).toEqual([false, 0]);
  });

  it.each([
    "X-HTTP-Method-Override: HEAD",
    "X-Original-URL: /health",
    "X-Rewrite-URL: /health",
    "X-Forwarded-Prefix: /health",
    "PAYMENT-RESPONSE: e30=",
    "X-PAYMENT: e30=",
    "Upgrade: websocket",
  ])("the header %s pays nothing", async (header) => {
    market.upstream.behave("data");
    expect((await raw("GET /data", `${header}\r\n`)).status).toBe(402);
    expect(market.upstream.hits()).toBe(0);
  });

  it("HEAD is not charged for a body that it would not get", async () => {
    const header = await signPaymentFor(`${findUrl(shop)}/data`);
    const before = await market.chain.balanceOf(payee.address);
    expect((await raw("HEAD /data", `PAYMENT-SIGNATURE: ${header}\r\n`)).status).toBe(404);
    expect(await market.chain.balanceOf(payee.address)).toBe(before);
  });

  it("a query is part of what is bought, not of the route", async () => {
    market.upstream.behave("data");
    expect((await raw("GET /data?a=1")).status).toBe(402);
    expect(market.upstream.hits()).toBe(0);
  });

  it("a payment of 20 kB is refused before it is read", async () => {
    expect((await raw("GET /data", `PAYMENT-SIGNATURE: ${"A".repeat(20_000)}\r\n`)).status).toBe(431);
  });

  it("a body over the limit is refused before anything is charged", async () => {
    const { status, answer } = await raw("POST /api/info", "Content-Length: 1048577\r\n");
    expect([status, answer]).toEqual([413, expect.stringContaining("body larger than 1048576 bytes; send less")]);
  });
});

describe("what the server answers itself", () => {
  it("says that it is well", async () => {
    const response = await fetch(`${findUrl(shop)}/health`);
    expect([response.status, await response.json()]).toEqual([200, { status: "ok" }]);
  });

  it("serves nothing that is not in the file", async () => {
    const response = await fetch(`${findUrl(shop)}/free`);
    expect([response.status, await response.json()]).toEqual([404, { error: "no such route: GET /free" }]);
  });
});

describe("a start that can't be", () => {
  it.each([
    [{ GATEHOUSE_RESOURCE_SERVER_PAY_TO: "" }, /GATEHOUSE_RESOURCE_SERVER_PAY_TO: missing; expected an address/],
    [{ GATEHOUSE_RESOURCE_SERVER_PAY_TO: "0x12" }, /PAY_TO: found "0x12"; expected an address/],
    [{ GATEHOUSE_RESOURCE_SERVER_ROUTES_PATH: "nowhere.json5" }, /nowhere\.json5: can't be read \(ENOENT\)/],
    [
      { GATEHOUSE_RESOURCE_SERVER_FACILITATOR_URL: "" },
      /needs GATEHOUSE_RESOURCE_SERVER_SETTLEMENT_PRIVATE_KEY and GATEHOUSE_RESOURCE_SERVER_SETTLEMENT_RPC_URL\. Set/,
    ],
    [
      { GATEHOUSE_RESOURCE_SERVER_SETTLEMENT_PRIVATE_KEY: testAccount(3).privateKey },
      /FACILITATOR_URL and GATEHOUSE_RESOURCE_SERVER_SETTLEMENT_PRIVATE_KEY are both set/,
    ],
    [{ GATEHOUSE_RESOURCE_SERVER_CHAIN_ID: "1" }, /GET \/data: accepts\.network: found "eip155:1672"/],
  ])("exits with 1 and says why: %j", async (env, message) => {
    await using state = await createTemporaryFolder();
    const { status, stderr } = await runToEnd("resource-server", {
      ...(await market.shopEnvironment(state.path)),
      ...env,
    });
    expect([status, stderr]).toEqual([1, expect.stringMatching(message)]);
    expect(stderr).not.toContain(testAccount(3).privateKey.slice(2));
  });

  it("exits with 1 when another process has the ledger", async () => {
    const { status, stderr } = await runToEnd("resource-server", {
      ...(await market.shopEnvironment(folder.path)),
      // SQLite waits for five seconds for who may let go of it.
      ...hastenService({ waitsMs: [5_000], times: 20 }),
    });
    expect([status, stderr]).toEqual([1, expect.stringMatching(/the ledger .* is in use; stop the other/)]);
  });
});

describe("a resource server without a facilitator", () => {
  it("verifies and settles by itself", async () => {
    await using state = await createTemporaryFolder();
    await using alone = await market.openShop(state.path, {
      GATEHOUSE_RESOURCE_SERVER_FACILITATOR_URL: "",
      GATEHOUSE_RESOURCE_SERVER_SETTLEMENT_PRIVATE_KEY: testAccount(3).privateKey,
      GATEHOUSE_RESOURCE_SERVER_SETTLEMENT_RPC_URL: market.chain.url,
      GATEHOUSE_RESOURCE_SERVER_SETTLEMENT_LEDGER_PATH: `${state.path}/settlement.sqlite`,
    });
    const url = `${findUrl(alone)}/data`;
    market.upstream.behave("data");
    market.facilitator.calls.length = 0;
    const before = await market.chain.balanceOf(payee.address);
    const response = await fetch(url, { headers: { "PAYMENT-SIGNATURE": await signPaymentFor(url) } });
    expect([response.status, (await market.chain.balanceOf(payee.address)) - before]).toEqual([200, 10_000n]);
    expect(market.facilitator.calls).toEqual([]);
    expect((await fetch(`${findOperationsUrl(alone)}/readyz`)).status).toBe(200);
    expect(alone.output()).not.toContain(testAccount(3).privateKey.slice(2));
  });
});
