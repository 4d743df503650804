import { decodePaymentSignatureHeader } from "@x402/core/http";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { gateway } from "#gateway/main.ts";
import { namePayment } from "#x402/payment-identifier.ts";
import { generousMs } from "#daemon/testing/until.ts";
import { startInProcess } from "../support/service-in-process.ts";
import {
  openMarketWithShop,
  pay,
  payee,
  payer,
  readSettlement,
  signPaymentFor,
  type MarketWithShop,
} from "../support/payments/shop.ts";

let market: MarketWithShop;
beforeAll(async () => {
  market = await openMarketWithShop();
});
afterAll(() => market?.[Symbol.asyncDispose]());

type Line = Readonly<Record<string, unknown> & { gatehouse?: Readonly<Record<string, unknown>> }>;

function linesOf(text: string): readonly Line[] {
  const lines = text.split("\n").filter((line) => line.startsWith("{"));
  return lines.map((line) => JSON.parse(line) as Line);
}

/** The payment in a header, as named in logs. */
function nameOf(header: string): string {
  const { accepted, payload } = decodePaymentSignatureHeader(header);
  const { authorization } = payload as { authorization: Readonly<{ from: string; nonce: string }> };
  return namePayment({ ...accepted, payer: authorization.from, nonce: authorization.nonce });
}

test("logs a payment under one id in seller and facilitator, without its signature", async () => {
  const { url, shop } = market;
  const header = await signPaymentFor(url);
  const response = await pay(url, header);
  expect(response.status).toBe(200);
  const { transaction } = readSettlement(response);
  const payment = nameOf(header);
  const logs = () => [market.settler, shop].map(({ output }) => output());
  const isChange = (line: Line) => line["event.action"] === "change-made" && line.gatehouse?.["payment"] === payment;
  const after = {
    state: "settled",
    transaction,
    amount: "10000",
    payer: payer.address.toLowerCase(),
    payTo: payee.address.toLowerCase(),
  };
  const success = { outcome: "success", after };
  await vi.waitFor(
    () =>
      expect(logs().flatMap(linesOf).filter(isChange)).toMatchObject([
        { gatehouse: { action: "payment-settled", by: "facilitator", ...success } },
        { gatehouse: { action: "payment-charged", by: payer.address.toLowerCase(), ...success } },
      ]),
    { timeout: generousMs },
  );
  const { signature } = decodePaymentSignatureHeader(header).payload as { signature: string };
  expect(logs().join("")).not.toContain(signature.slice(2, 66));
});

test("logs the same request and trace ids in seller, facilitator and gateway", async () => {
  await using rpc = await startInProcess(gateway, {
    GATEHOUSE_GATEWAY_NODE_HTTP_URL: market.chain.url,
    GATEHOUSE_GATEWAY_NODE_CHAIN_ID: "1672",
    GATEHOUSE_GATEWAY_PUBLIC_PORT: "0",
    GATEHOUSE_GATEWAY_LISTEN_PORT: "0",
    GATEHOUSE_GATEWAY_ACCESS_LOG_SAMPLE_RATIO: "1",
  });
  const accepts = { scheme: "exact", price: "0.01", network: "eip155:1672" };
  const routes = { "POST /rpc": { accepts, upstream: rpc.urls["gateway"] } };
  // The seller bypasses the proxy, which makes requests of its own.
  const direct = { GATEHOUSE_RESOURCE_SERVER_FACILITATOR_URL: market.settler.urls["facilitator"] ?? "" };
  await using shop = await market.openOwnShop(direct, { routes });
  const url = `${shop.origin}/rpc`;
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_chainId", params: [] });
  const ask = { method: "POST", body, headers: { "Content-Type": "application/json" } };
  const buy = async (said: Readonly<Record<string, string>>) => {
    const header = await signPaymentFor(url, ask);
    const headers = { ...ask.headers, ...said, "PAYMENT-SIGNATURE": header };
    const response = await fetch(url, { ...ask, headers });
    expect([response.status, await response.json()]).toEqual([200, { jsonrpc: "2.0", id: 1, result: "0x688" }]);
    return nameOf(header);
  };
  const linesAbout = (requestId: string) =>
    Object.fromEntries(
      Object.entries({ shop, settler: market.settler, gateway: rpc }).map(([name, { output }]) => [
        name,
        linesOf(output()).filter((line) => line["http.request.id"] === requestId),
      ]),
    );

  const traceId = "0af7651916cd43dd8448eb211c80319c";
  const asked = { "X-Request-Id": "order-7", traceparent: `00-${traceId}-b7ad6b7169203331-01` };
  const payment = await buy(asked);
  const ids = { "trace.id": traceId, "http.request.id": "order-7" };
  await vi.waitFor(
    () =>
      expect(linesAbout("order-7")).toMatchObject({
        shop: [{ "event.action": "sold", ...ids, gatehouse: { payment } }],
        settler: [{ "event.action": "settle-answered", ...ids, gatehouse: { payment, state: "settled" } }],
        gateway: [{ "event.action": "call", ...ids, gatehouse: { method: "eth_chainId" } }],
      }),
    { timeout: generousMs },
  );

  // Neither the client's own ids nor an invalid trace are forwarded, only the seller's ids.
  const other = await buy({ traceparent: `00-${"0".repeat(32)}-b7ad6b7169203331-01` });
  const soldLine = () =>
    linesOf(shop.output()).find((line) => line["event.action"] === "sold" && line.gatehouse?.["payment"] === other);
  await vi.waitFor(
    () => {
      const requestId = soldLine()?.["http.request.id"];
      expect(requestId).toMatch(/^[0-9a-f-]{36}$/);
      const traces = Object.values(linesAbout(String(requestId))).map(([line]) => line?.["trace.id"]);
      expect(traces).toHaveLength(3);
      expect(new Set(traces).size).toBe(1);
      expect(traces[0]).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
    },
    { timeout: generousMs },
  );
});
