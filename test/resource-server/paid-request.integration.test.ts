import { generousMs, until } from "#daemon/testing/until.ts";
import { ExactEvmScheme } from "@x402/evm";
import type { SpendControls } from "@x402/core/client";
import { wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { Agent, fetch as undiciFetch, type RequestInit as UndiciInit } from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { payingFetch } from "#client/paying-fetch.ts";
import {
  openMarketWithShop,
  pay,
  payee,
  payer,
  readRequired,
  readSettlement,
  signPaymentFor,
  type MarketWithShop,
} from "../support/payments/shop.ts";

let market: MarketWithShop;
let url: string;
beforeAll(async () => {
  market = await openMarketWithShop();
  ({ url } = market);
});
afterAll(() => market?.[Symbol.asyncDispose]());

/** Creates a `fetch` that connects from a different address. */
function createFetchFrom(localAddress: string): Disposable & Readonly<{ fetch: typeof fetch }> {
  const dispatcher = new Agent({ localAddress });
  return {
    fetch: ((target: string, init: RequestInit) => undiciFetch(target, { ...init, dispatcher } as UndiciInit)) as never,
    [Symbol.dispose]: () => void dispatcher.destroy(),
  };
}

/** Measures the effect of a purchase: the payee's gain, and how often the upstream was called. */
async function measureEffect<T>(purchase: () => Promise<T>) {
  market.upstream.behave("data");
  const balanceBefore = await market.chain.balanceOf(payee.address);
  const result = await purchase();
  return { result, gain: (await market.chain.balanceOf(payee.address)) - balanceBefore, hits: market.upstream.hits() };
}

describe("a protected route", () => {
  it("returns 402 with payment instructions and no-store", async () => {
    const response = await fetch(`${url}?x=1`);
    expect([response.status, response.headers.get("Cache-Control")]).toEqual([402, "no-store"]);
    expect(readRequired(response)).toEqual({
      x402Version: 2,
      error: "PAYMENT-SIGNATURE header is required",
      resource: { url: `${url}?x=1`, description: "Data", mimeType: "application/json" },
      accepts: [
        {
          scheme: "exact",
          network: "eip155:1672",
          amount: "10000",
          asset: market.chain.token,
          payTo: payee.address,
          maxTimeoutSeconds: 300,
          extra: { token: "USDC", name: "USDC", version: "2" },
        },
      ],
      extensions: { "payment-identifier": { info: { required: false }, schema: expect.any(Object) } },
    });
  });

  it("returns resource and settlement for a payment, and pays the payee", async () => {
    const { result, gain, hits } = await measureEffect(async () => pay(url, await signPaymentFor(url)));
    expect([result.status, gain, hits]).toEqual([200, 10_000n, 1]);
    expect(await result.json()).toEqual({ sold: 1 });
    expect(readSettlement(result)).toMatchObject({
      success: true,
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      network: "eip155:1672",
      payer: payer.address,
    });
    expect(result.headers.get("Cache-Control")).toBe("private");
  });

  it("sells to @x402/fetch unchanged", async () => {
    const { spendControls } = (await (await fetch(url)).json()) as { spendControls: { typescript: string } };
    const [, controls = "{}"] = /^client\.setSpendControls\((.*)\);$/.exec(spendControls.typescript) ?? [];
    const client = new x402Client()
      .register("eip155:1672", new ExactEvmScheme(payer.account))
      .setSpendControls(JSON.parse(controls) as SpendControls);
    const { result, gain } = await measureEffect(() => wrapFetchWithPayment(fetch, client)(url));
    expect([result.status, gain]).toEqual([200, 10_000n]);
    // As in the extension's guide for buyers, one identifier per purchase and one signature per request.
    client.onBeforePaymentCreation(async ({ paymentRequired: { extensions = {} } }) => {
      (extensions["payment-identifier"] as { info: { id?: string } }).info.id = "pay_7d5d747be160e280504c099d984bcfe0";
    });
    const fetchPaid = wrapFetchWithPayment(fetch, client);
    const once = await measureEffect(async () => (await fetchPaid(url)).text());
    const again = await measureEffect(() =>
      until("the delivery is complete", generousMs, async () => {
        const response = await fetchPaid(url);
        return response.status === 409 ? undefined : response.text();
      }),
    );
    expect([once.gain, again.gain, again.hits, again.result]).toEqual([10_000n, 0n, 0, once.result]);
  });

  it("delivers to a buyer whose address changed after payment, charged once", async () => {
    using other = createFetchFrom("127.0.0.2");
    const responses: (number | string)[] = [];
    const lossy: typeof fetch = async (input, init) => {
      const request = new Request(input, init);
      if (!request.headers.has("PAYMENT-SIGNATURE")) return fetch(request);
      const response = await (responses.length === 0 ? fetch : other.fetch)(request.url, { headers: request.headers });
      responses.push(response.status);
      if (responses.length > 1) return response;
      responses.push(await response.text());
      throw new TypeError("the network changed");
    };
    const fetchPaid = payingFetch(
      {
        account: payer.account,
        assets: [{ network: "eip155:1672", address: market.chain.token, decimals: 6 }],
        maxPerPayment: "$0.01",
        maxTotal: "$0.01",
      },
      { fetch: lossy },
    );
    const { result, gain, hits } = await measureEffect(() => fetchPaid(url));
    expect([result.status, await result.text(), gain, hits]).toEqual([200, responses[1], 10_000n, 1]);
    expect(responses[0]).toBe(200);
  });

  it("sells a request with a body to payingFetch", async () => {
    const fetchPaid = payingFetch({
      account: payer.account,
      assets: [{ network: "eip155:1672", address: market.chain.token, decimals: 6 }],
      maxPerPayment: "$0.01",
      maxTotal: "$0.01",
    });
    const { result, gain } = await measureEffect(() =>
      fetchPaid(new URL("/api/info?q=1", url).href, { method: "POST", body: '{"ask":1}' }),
    );
    expect([result.status, gain]).toEqual([200, 10_000n]);
    expect(market.upstream.seen[0]).toMatch(/^POST \/info\?q=1 /);
    expect(market.upstream.seen[0]).not.toMatch(/payment-signature/i);
  });
});

describe("a failed purchase", () => {
  it("gets 402 with the facilitator's reason for a forged signature", async () => {
    const header = await signPaymentFor(url);
    const payload = JSON.parse(Buffer.from(header, "base64").toString()) as {
      payload: { authorization: { nonce: string } };
    };
    payload.payload.authorization.nonce = `0x${"77".repeat(32)}`;
    const { result, hits } = await measureEffect(() =>
      pay(url, Buffer.from(JSON.stringify(payload)).toString("base64")),
    );
    expect([result.status, readRequired(result).error, hits]).toEqual([402, "invalid_exact_evm_signature", 0]);
    const message = expect.stringMatching(/^the signature is not by 0x/);
    expect(await result.json()).toMatchObject({ error: "invalid_exact_evm_signature", message });
    const lines = market.shop.output().split("\n");
    const line = lines.find((each) => each.includes("payment-rejected")) ?? "{}";
    expect(JSON.parse(line)).toMatchObject({ gatehouse: { reason: "invalid_exact_evm_signature", cause: message } });
  });

  it.each(["error", "hang"] as const)("is not charged if the upstream fails (%s)", async (behaviour) => {
    await using impatient = await market.openOwnShop({ GATEHOUSE_RESOURCE_SERVER_UPSTREAM_TIMEOUT_MS: "300" });
    const target = `${impatient.origin}/data`;
    const header = await signPaymentFor(target);
    const { result, gain } = await measureEffect(() => {
      market.upstream.behave(behaviour);
      return pay(target, header);
    });
    expect([result.status, gain]).toEqual([behaviour === "error" ? 502 : 504, 0n]);
    expect(await result.text()).toMatch(
      /^\{"error":"the upstream .*; you were not charged, and the payment can be reused\."\}$/,
    );
    const again = await measureEffect(() => pay(target, header));
    expect([again.result.status, again.gain]).toEqual([200, 10_000n]);
  });
});
