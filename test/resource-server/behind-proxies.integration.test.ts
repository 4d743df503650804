import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { BenchProcess } from "../bench/gateway/proxies.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { prepareHaproxy, type StartProxy } from "../support/real-proxy.ts";
import { openMarket, signPaymentFor, type Market } from "../support/payments/shop.ts";

let market: Market;
beforeAll(async () => {
  market = await openMarket();
});
afterAll(async () => {
  await market?.[Symbol.asyncDispose]();
});

/** Buys from an address of this machine, with a made-up address in both headers; returns the status. */
async function buyFrom(localAddress: string, url: string): Promise<number> {
  const headers = {
    "PAYMENT-SIGNATURE": await signPaymentFor(url),
    "X-Forwarded-For": "198.51.100.9",
    Forwarded: "for=198.51.100.9",
  };
  const made = request(url, { localAddress, headers });
  made.end();
  const [response] = (await once(made, "response")) as [IncomingMessage];
  response.resume();
  await once(response, "end");
  return response.statusCode ?? 0;
}

const ways: readonly (readonly [string, Record<string, string>, StartProxy])[] = [
  ["X-Forwarded-For", {}, prepareHaproxy("mode http\n  option forwardfor", "")],
  [
    "the PROXY protocol",
    { GATEHOUSE_RESOURCE_SERVER_LISTEN_PROXY_PROTOCOL: "true" },
    prepareHaproxy("mode tcp", "send-proxy-v2"),
  ],
];

it.each(ways)("forwards the client's address from HAProxy with %s", async (_, env, startProxy) => {
  const trusted = { GATEHOUSE_RESOURCE_SERVER_LISTEN_TRUSTED_PROXIES: "127.0.0.1" };
  await using shop = await market.openOwnShop({ ...trusted, ...env });
  const [port = 0] = await findFreePorts(1);
  const place = { folder: shop.folder, port, behindPort: new URL(shop.origin).port };
  await using proxy: BenchProcess = await startProxy(place);
  market.upstream.behave("data");
  expect(await buyFrom("127.0.0.2", new URL("/data", proxy.url).href)).toBe(200);
  expect(market.upstream.seen.at(-1)).toContain('"x-forwarded-for":"127.0.0.2"');
});
