import { getRequestListener } from "@hono/node-server";
import { encodePaymentResponseHeader } from "@x402/core/http";
import { describe, expect, it } from "vitest";
import { payingFetch, type PayingFetchOptions, type PaymentEvent } from "./paying-fetch.ts";
import { account, asset, answerDelivered, offer, createSeller, settlement } from "./testing/seller.ts";

function buyer(shop: ReturnType<typeof createSeller>, change: Partial<PayingFetchOptions> = {}) {
  const events: PaymentEvent[] = [];
  const fetch = payingFetch(
    { account, assets: [asset], maxPerPayment: "$0.05", maxTotal: "$0.05", ...change },
    { fetch: shop.fetch, onEvent: (event) => events.push(event) },
  );
  return { buy: (init?: RequestInit) => fetch("http://shop.test/data", init), events };
}

describe("payingFetch", () => {
  it("pays for an offer and reports each step, but not the signature", async () => {
    const shop = createSeller();
    const { buy, events } = buyer(shop);
    const response = await buy();
    expect([response.status, await response.text()]).toEqual([200, "the goods"]);
    expect(events.map(({ type }) => type)).toEqual(["payment-required", "payment-signed", "payment-response"]);
    expect(events[2]).toEqual({ type: "payment-response", status: 200, settlement });
    const { signature } = shop.payments[0]!.payload as { signature: string };
    expect(signature).toMatch(/^0x[0-9a-f]{130}$/);
    expect(JSON.stringify(events)).not.toContain(signature);
  });

  it("returns a complete Response next to a Hono server, which replaces the global one", async () => {
    const Own = Response;
    getRequestListener(() => new Own());
    expect(Response).not.toBe(Own);
    const { headers } = answerDelivered();
    const response = await buyer(createSeller([offer], [() => new Own("the goods", { headers })])).buy();
    expect(Buffer.from(await response.bytes()).toString()).toBe("the goods");
  });

  it("returns a response without a payment request unchanged", async () => {
    const fetch = payingFetch(
      { account, assets: [asset], maxPerPayment: "1", maxTotal: "1" },
      { fetch: async () => new Response("free", { status: 203 }) },
    );
    expect((await fetch("http://shop.test/")).status).toBe(203);
  });

  it("pays the cheapest allowed offer", async () => {
    const foreign = { ...offer, asset: "0x0000000000000000000000000000000000000001", amount: "1" };
    const shop = createSeller([{ ...offer, amount: "20000" }, foreign, offer]);
    await buyer(shop).buy();
    expect(shop.payments.map(({ accepted }) => accepted)).toEqual([offer]);
  });

  const other = "0x0000000000000000000000000000000000000001";
  const none = "no_allowed_offer";
  it.each([
    ["a price over the cap", { amount: "50001" }, "over_payment_cap", /costs 0\.050001, the cap per payment is 0\.05/],
    ["a foreign token", { asset: other }, none, /token 0x0+1 is not in the list/],
    ["a foreign network", { network: "eip155:1" as const }, none, /on eip155:1: the network is not allowed/],
    ["a foreign scheme", { scheme: "tab" }, none, /scheme "tab" is not "exact"/],
    ["a delegation", { extra: { assetTransferMethod: "erc7710" } }, none, /"erc7710" is neither EIP-3009 nor Permit2/],
    ["payment before the work", { extra: { ...offer.extra, paymentFlow: "upfront" } }, none, /payment flow "upfront"/],
    ["a validity of a year", { maxTimeoutSeconds: 31_536_000 }, none, /a validity of 31536000 s/],
    ["an amount that is not a number", { amount: "1e3" }, none, /amount "1e3" is not a whole number/],
  ])("rejects %s without signing", async (_name, change, code, message) => {
    const shop = createSeller([{ ...offer, ...change }]);
    const { buy, events } = buyer(shop);
    const rejection = { name: "PaymentRejectedError", code, message: expect.stringMatching(message) };
    await expect(buy()).rejects.toMatchObject(rejection);
    expect([shop.payments, events.map(({ type }) => type)]).toEqual([[], ["payment-required"]]);
  });

  it("rejects a 402 without offers", async () => {
    await expect(buyer(createSeller([])).buy()).rejects.toThrow("it has no offers");
  });

  it("never signs more than the total cap in ten concurrent payments", async () => {
    const shop = createSeller([offer], [() => new Response("broken", { status: 500 })]);
    const { buy } = buyer(shop, { maxTotal: "$0.03" });
    const results = await Promise.allSettled(Array.from({ length: 10 }, () => buy()));
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
    expect(new Set(shop.headers).size).toBe(3);
    await expect(buy()).rejects.toMatchObject({
      code: "over_total_cap",
      message: expect.stringMatching(/the payment of 0\.01 would bring the total to 0\.04, the cap is 0\.03/),
    });
  });

  it("rejects an invalid cap on creation", () => {
    expect(() => payingFetch({ account, assets: [asset], maxPerPayment: "a little", maxTotal: "$1" })).toThrow(
      '"a little" is not an amount',
    );
  });

  it("requires decimals only for amounts in whole tokens", async () => {
    const { network, address } = asset;
    const assets = [{ network, address }];
    expect(() => payingFetch({ account, assets, maxPerPayment: "0.05", maxTotal: "1000000" })).toThrow(
      `0.05 is in whole tokens, but the decimals of ${address} on eip155:1672 are unknown;`,
    );
    const shop = createSeller();
    const fetch = payingFetch({ account, assets, maxPerPayment: "10000", maxTotal: "10000" }, { fetch: shop.fetch });
    expect((await fetch("http://shop.test/data")).status).toBe(200);
  });

  it("compares and adds prices in tokens of different decimals", async () => {
    const address = "0x0000000000000000000000000000000000000018";
    const wide = { ...offer, asset: address, amount: "9000000000000000" };
    const shop = createSeller([offer, wide]);
    const assets = [asset, { network: asset.network, address, decimals: 18 }];
    const fetch = payingFetch({ account, assets, maxPerPayment: "0.01", maxTotal: "0.018" }, { fetch: shop.fetch });
    const pay = () => fetch("http://shop.test/data");
    await pay();
    await pay();
    expect(
      shop.payments.map(({ accepted }) => accepted.asset),
      "0.009 is less than 0.01",
    ).toEqual([address, address]);
    await expect(pay()).rejects.toMatchObject({ code: "over_total_cap" });
  });
});

function pending(): Response {
  const unsettled = { ...settlement, success: false, errorReason: "settlement_pending" };
  return Response.json(
    { error: "pending" },
    { status: 202, headers: { "PAYMENT-RESPONSE": encodePaymentResponseHeader(unsettled) } },
  );
}

const unreachable = () => Promise.reject(new TypeError("fetch failed"));
const answerSoon = (status: number) => new Response("", { status, headers: { "Retry-After": "0" } });

function cutOff(): Response {
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(new TextEncoder().encode("the g"));
      controller.error(new TypeError("terminated"));
    },
  });
  return new Response(body, { headers: answerDelivered().headers });
}

describe("payingFetch, while the outcome is unknown", () => {
  it.each([
    ["the settlement is pending", pending, /the settlement is pending/],
    ["the payment is being processed", () => answerSoon(409), /still processing/],
    ["the server is busy", () => answerSoon(503), /busy/],
    ["the connection breaks", unreachable, /no response \(fetch failed\)/],
    ["the body is cut off", cutOff, /no response \(terminated\)/],
    ["a proxy finds no server", () => new Response("", { status: 502 }), /the server returned HTTP 502/],
    ["the server fails", () => new Response("", { status: 500 }), /the server returned HTTP 500/],
    ["the server is late", () => new Response("", { status: 504 }), /the server returned HTTP 504/],
    ["the server is stopping", () => new Response("", { status: 503 }), /the server returned HTTP 503/],
  ])("resends the same payment if %s", async (_name, unknown, reason) => {
    const shop = createSeller([offer], [unknown, answerDelivered]);
    const { buy, events } = buyer(shop);
    const response = await buy({ method: "POST", body: "order" });
    expect(response.status).toBe(200);
    expect(new Set(shop.headers).size).toBe(1);
    expect(events).toContainEqual({ type: "payment-repeated", attempt: 1, reason: expect.stringMatching(reason) });
  });

  it("returns the last response or error after outcomeTimeoutMs", async () => {
    const limit = { outcomeTimeoutMs: 300 };
    expect((await buyer(createSeller([offer], [pending]), limit).buy()).status).toBe(202);
    await expect(buyer(createSeller([offer], [unreachable]), limit).buy()).rejects.toThrow("fetch failed");
  });

  it.each([500, 502, 503, 504])("returns a persistent %i with its body after four requests", async (status) => {
    const shop = createSeller([offer], [() => new Response("broken", { status })]);
    const response = await buyer(shop).buy();
    expect([response.status, await response.text()]).toEqual([status, "broken"]);
    expect([shop.headers.length, new Set(shop.headers).size]).toEqual([4, 1]);
  });

  it("returns a body larger than the buffer", async () => {
    const chunk = new Uint8Array(1_048_576);
    const chunks = 66;
    const large = () => new Response(ReadableStream.from(Array.from({ length: chunks }, () => chunk)));
    const response = await buyer(createSeller([offer], [large])).buy();
    expect((await response.arrayBuffer()).byteLength).toBe(chunks * chunk.byteLength);
  });

  it.each([402, 404, 409])("does not retry a plain %i", async (status) => {
    const shop = createSeller([offer], [() => new Response("", { status })]);
    expect((await buyer(shop).buy()).status).toBe(status);
    expect(shop.payments).toHaveLength(1);
  });

  it("stops on the caller's abort signal", async () => {
    const shop = createSeller([offer], [pending]);
    const stop = new AbortController();
    const { buy } = buyer(shop);
    setTimeout(() => stop.abort(new Error("enough")), 100);
    await expect(buy({ signal: stop.signal })).rejects.toThrow();
  });
});
