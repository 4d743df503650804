import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { buildSettlingEnvironment, signPaymentFor } from "../support/payments/shop.ts";
import { largestBytes, startUpstream, type TestUpstream } from "../support/payments/test-upstream.ts";
import { startPaymentChain } from "../support/payments/payment-chain.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { openMany, openRaw } from "../support/gateway/raw-call.ts";
import { startExampleService, type ExampleService } from "./example-service.ts";

const resources = new AsyncDisposableStack();
let upstream: TestUpstream;
let shop: ExampleService;
let shopUrl: string;

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), "gatehouse-bounds-"));
  resources.defer(() => rmSync(folder, { recursive: true }));
  const chain = resources.use(await startPaymentChain());
  upstream = resources.use(await startUpstream());
  const routesPath = join(folder, "routes.json5");
  const accepts = [{ scheme: "exact", price: "0.01", network: "eip155:1672" }];
  writeFileSync(routesPath, JSON.stringify({ "GET /data": { accepts, upstream: `${upstream.url}/data` } }));
  shop = resources.use(
    await startExampleService(
      "resource-server",
      buildSettlingEnvironment(chain, {
        routesPath,
        settlementPath: join(folder, "settlement.sqlite"),
        claimsPath: join(folder, "claims.sqlite"),
      }),
    ),
  );
  shopUrl = shop.urls["resource-server"] ?? "";
});
afterAll(() => resources.disposeAsync());

const sign = () => signPaymentFor(`${shopUrl}/data`);

const buy = (payment: string) => fetch(`${shopUrl}/data`, { headers: { "PAYMENT-SIGNATURE": payment } });

const buyAndRead = async () => {
  const response = await buy(await sign());
  return [response.status, (await response.arrayBuffer()).byteLength];
};

const sendDeaf = (payment: string, localAddress: string) => {
  const request = `GET /data HTTP/1.1\r\nHost: localhost\r\nPAYMENT-SIGNATURE: ${payment}\r\n\r\n`;
  const client = openRaw(shopUrl, request, { localAddress });
  client.socket.pause();
  return client;
};

const buyDeaf = async (addresses: readonly string[]) => {
  const payments = await Promise.all(addresses.map(sign));
  return openMany(addresses.length, (at) => sendDeaf(payments[at] ?? "", addresses[at] ?? ""));
};

const countEnds = async (outcome = "[\\w-]+") => {
  const metrics = await (await fetch(`${shop.urls["resource-server-operations"]}/metrics`)).text();
  const line = new RegExp(
    `gatehouse_payment_requests_total\\{route="GET /data",outcome="(?!unpaid)${outcome}"\\} (\\d+)`,
    "g",
  );
  return [...metrics.matchAll(line)].reduce((sum, [, count]) => sum + Number(count), 0);
};

describe("a small resource server in front of an upstream with large responses", () => {
  afterEach(() => shop.expectWell());

  it("limits the size of an upstream's response", async () => {
    upstream.behave("too large");
    const payment = await sign();
    const rejectedPurchase = await buy(payment);
    expect([rejectedPurchase.status, await rejectedPurchase.text()]).toEqual([
      502,
      expect.stringMatching(/larger than 8388608 bytes.*you were not charged/),
    ]);
    upstream.behave("largest");
    expect((await (await buy(payment)).arrayBuffer()).byteLength).toBe(largestBytes);
  });

  it("limits the memory for a resource server's responses, per address (IPv6: /64)", async () => {
    upstream.behave("largest");
    expect(await buyAndRead()).toEqual([200, largestBytes]);
    const [before, soldBefore, worked] = [await countEnds(), await countEnds("sold"), upstream.hits()];
    using _deaf = await buyDeaf(Array.from({ length: 50 }, () => "127.0.3.1"));
    await until("all have finished", generousMs, async () => (await countEnds()) === before + 50);
    const sold = (await countEnds("sold")) - soldBefore;
    expect(sold).toBeLessThan(5);
    // A sale that is rejected for lack of memory is rejected before the upstream is called, and is not charged.
    expect(upstream.hits() - worked).toBe(sold);
    expect(await buyAndRead()).toEqual([200, largestBytes]);
  });

  it("limits the memory for a resource server's responses", async () => {
    upstream.behave("largest");
    const before = await countEnds();
    using deaf = await buyDeaf(Array.from({ length: 50 }, (_, at) => `127.0.4.${at + 1}`));
    await until("all have finished", generousMs, async () => (await countEnds()) === before + 50);
    for (let bought = 0; bought < 5; bought += 1) expect(await buyAndRead()).toEqual([200, largestBytes]);
    expect(deaf.clients.every(({ isClosed }) => !isClosed())).toBe(true);
  });

  it("buffers a response bought earlier only once for concurrent requests", async () => {
    upstream.behave("largest");
    const payment = await sign();
    const before = await countEnds("sold");
    {
      using _deaf = sendDeaf(payment, "127.0.5.1");
      await until("the purchase is complete", generousMs, async () => (await countEnds("sold")) > before);
    }
    using _again = openMany(60, () => sendDeaf(payment, "127.0.5.1"));
    expect(await buyAndRead()).toEqual([200, largestBytes]);
  });
});
