import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { decodePaymentRequiredHeader } from "@x402/core/http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleForBrowser, findChromium, startChromium } from "../support/page/chromium.ts";
import { accelerateService } from "../support/accelerated-waits.ts";
import { resourceServer } from "#resource-server/main.ts";
import { explainStartFailure } from "../support/service-in-process.ts";
import { runToEnd } from "../support/service-process.ts";
import {
  openMarketWithShop,
  pay,
  payee,
  payer,
  readRequired,
  signPaymentFor,
  createTemporaryFolder,
  type MarketWithShop,
} from "../support/payments/shop.ts";
import { testAccount } from "../support/payments/payment-chain.ts";

const executablePath = findChromium();
let market: MarketWithShop;
beforeAll(async () => {
  market = await openMarketWithShop();
});
afterAll(() => market?.[Symbol.asyncDispose]());

/** Sends a raw request, which `fetch` would normalize; returns the status and the whole response. */
async function raw(line: string, headers = ""): Promise<Readonly<{ status: number; answer: string }>> {
  const { port } = new URL(market.url);
  const socket = connect(Number(port), "127.0.0.1");
  await once(socket, "connect");
  socket.write(`${line} HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n${headers}\r\n`);
  const response = await text(socket);
  return { status: Number(response.split(" ")[1]), answer: response };
}

function readOffers(response: string) {
  return decodePaymentRequiredHeader(/^payment-required: (.*)$/im.exec(response)?.[1] ?? "").accepts;
}

describe("an attempt to bypass payment", () => {
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
    "GET /data?a=1",
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
  ])("with %s does not reach the upstream", async (line) => {
    market.upstream.behave("data");
    const { status, answer: response } = await raw(line);
    expect([204, 400, 402, 404, 405, 501]).toContain(status);
    expect([response.includes("sold"), market.upstream.hits()]).toEqual([false, 0]);
  });

  it.each([
    "X-HTTP-Method-Override: HEAD",
    "X-Original-URL: /health",
    "X-Rewrite-URL: /health",
    "X-Forwarded-Prefix: /health",
    "PAYMENT-RESPONSE: e30=",
    "X-PAYMENT: e30=",
    "Upgrade: websocket",
  ])("with the header %s instead of a payment fails", async (header) => {
    market.upstream.behave("data");
    expect((await raw("GET /data", `${header}\r\n`)).status).toBe(402);
    expect(market.upstream.hits()).toBe(0);
  });

  it.each(["nonsense", "e30=", "bnVsbA=="])("with the payment %s gets 402 with a reason", async (payment) => {
    market.upstream.behave("data");
    const response = await pay(market.url, payment);
    expect([response.status, readRequired(response).error]).toEqual([
      402,
      expect.stringMatching(/^invalid_payload: PAYMENT-SIGNATURE/),
    ]);
    expect(market.upstream.hits()).toBe(0);
  });

  it("with a paid HEAD is not charged", async () => {
    const header = await signPaymentFor(market.url);
    const balanceBefore = await market.chain.balanceOf(payee.address);
    expect((await raw("HEAD /data", `PAYMENT-SIGNATURE: ${header}\r\n`)).status).toBe(402);
    expect(await market.chain.balanceOf(payee.address)).toBe(balanceBefore);
  });

  it("with a payment header of 20 kB gets 431", async () => {
    expect((await raw("GET /data", `PAYMENT-SIGNATURE: ${"A".repeat(20_000)}\r\n`)).status).toBe(431);
  });
});

describe("HTTP on a sold route", () => {
  it("returns offers to HEAD, and 405 with the allowed methods to others", async () => {
    const [head, get] = await Promise.all([raw("HEAD /data"), raw("GET /data")]);
    expect([head.status, readOffers(head.answer)]).toEqual([402, readOffers(get.answer)]);
    expect([head.answer.split("\r\n\r\n")[1], get.answer.split("\r\n\r\n")[1]]).toEqual([
      "",
      expect.stringMatching(/./),
    ]);
    const other = await raw("DELETE /data");
    expect([other.status, other.answer]).toEqual([405, expect.stringMatching(/^allow: HEAD, GET, OPTIONS\r$/im)]);
    expect((await raw("GET /api/info")).answer).toMatch(/^HTTP\/1.1 405 [^]*^allow: POST, OPTIONS\r$/im);
    expect((await raw("PROPFIND /data?x=1")).status).toBe(405);
    expect((await raw("DELETE /nothing")).status).toBe(404);
  });

  it("allows a preflight's headers, and exposes the payment headers", async () => {
    const preflight = await fetch(market.url, {
      method: "OPTIONS",
      headers: {
        Origin: "https://page.example",
        "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Headers": "payment-signature,access-control-expose-headers",
      },
    });
    const allows = (name: string) => preflight.headers.get(`Access-Control-Allow-${name}`)?.toLowerCase();
    expect([preflight.status, allows("Origin"), allows("Headers")]).toEqual([
      204,
      "*",
      "payment-signature,access-control-expose-headers",
    ]);
    expect(allows("Methods")).toBe("head,get");
    const postedResponse = await fetch(new URL("/api/info", market.url), { method: "OPTIONS" });
    expect(postedResponse.headers.get("Access-Control-Allow-Methods")).toBe("POST");
    const removedResponse = await fetch(new URL("/nothing", market.url), { method: "OPTIONS" });
    expect(removedResponse.headers.get("Access-Control-Allow-Methods")).toMatch(/^HEAD,GET,.*POST/);
    for (const path of ["/data", "/free", "/health"]) {
      const { headers } = await fetch(new URL(path, market.url));
      expect([path, headers.get("Access-Control-Allow-Origin")]).toEqual([path, "*"]);
      expect(headers.get("Access-Control-Expose-Headers")).toMatch(/PAYMENT-REQUIRED,PAYMENT-RESPONSE/);
    }
  });

  it.each([
    ["data", "public, s-maxage=60, max-age=9", 200, "max-age=9, private"],
    ["data", 'Private="x", no-store', 200, "no-store, private"],
    ["declined", "public, max-age=600", 404, "no-store"],
  ] as const)("keeps %s with Cache-Control %s out of shared caches", async (behaviour, given, status, sent) => {
    const type = "Application/JSON; charset=utf-8";
    market.upstream.behave(behaviour, { "Cache-Control": given, "Content-Type": type, Location: market.upstream.url });
    const { headers, status: answered } = await pay(market.url, await signPaymentFor(market.url));
    expect([answered, headers.get("Cache-Control"), headers.get("Location")]).toEqual([status, sent, null]);
    expect(headers.get("Content-Type")).toBe(type);
  });

  it.skipIf(executablePath === undefined)("sells to @x402/fetch in a browser page of another origin", async () => {
    market.upstream.behave("data");
    await using chromium = await startChromium(executablePath ?? "");
    const page = await chromium.browser.newPage();
    await page.goto(market.upstream.url);
    await page.addScriptTag({ content: await bundleForBrowser(new URL("page-buyer.main.ts", import.meta.url)) });
    const order = { url: market.url, key: payer.privateKey, asset: market.chain.token };
    const bought = await page.evaluate(`buy(${JSON.stringify(order)})`);
    expect(bought).toEqual({
      unpaid: { status: 402, amount: "10000" },
      paid: { status: 200, body: { sold: expect.any(Number) }, success: true },
    });
  });
});

describe("a start with invalid settings", () => {
  it.each([
    [{ GATEHOUSE_RESOURCE_SERVER_PAY_TO: "" }, /GATEHOUSE_RESOURCE_SERVER_PAY_TO: missing; expected an address/],
    [{ GATEHOUSE_RESOURCE_SERVER_PAY_TO: "0x12" }, /PAY_TO: found "0x12"; expected an address/],
    [{ GATEHOUSE_RESOURCE_SERVER_ROUTES_PATH: "nowhere.json5" }, /nowhere\.json5: can't be read \(ENOENT\)/],
    [
      { GATEHOUSE_RESOURCE_SERVER_FACILITATOR_URL: "" },
      /requires GATEHOUSE_RESOURCE_SERVER_SETTLEMENT_PRIVATE_KEY and GATEHOUSE_RESOURCE_SERVER_SETTLEMENT_RPC_URL\. Set/,
    ],
    [
      { GATEHOUSE_RESOURCE_SERVER_SETTLEMENT_PRIVATE_KEY: testAccount(3).privateKey },
      /FACILITATOR_URL and GATEHOUSE_RESOURCE_SERVER_SETTLEMENT_PRIVATE_KEY are both set/,
    ],
    [{ GATEHOUSE_RESOURCE_SERVER_CHAIN_ID: "1" }, /GET \/data: accepts\.network: found "eip155:1672"/],
  ])("fails with a reason: %j", async (env, message) => {
    await using state = await createTemporaryFolder();
    const reason = await explainStartFailure(resourceServer, {
      ...(await market.shopEnvironment(state.path)),
      ...env,
    });
    expect(reason).toMatch(message);
    expect(reason).not.toContain(testAccount(3).privateKey.slice(2));
  });

  it("exits with 1 if another process uses the ledger", async () => {
    const { status, stderr } = await runToEnd("resource-server", {
      ...(await market.shopEnvironment(market.folder)),
      // SQLite waits five seconds for a lock to be released.
      ...accelerateService({ waitsMs: [5_000], times: 20 }),
    });
    expect([status, stderr]).toEqual([1, expect.stringMatching(/the ledger .* is in use; stop the other/)]);
  });
});
