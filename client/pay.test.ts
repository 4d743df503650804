import { describe, expect, it } from "vitest";
import { pay, type PayOptions } from "./pay.ts";
import { asset, offer, privateKey, seller } from "./testing/seller.ts";

async function run(change: Partial<PayOptions> = {}, shop = seller()) {
  let printed = "";
  const status = await pay(
    {
      url: "http://shop.test/data",
      privateKey,
      network: asset.network,
      assets: [asset.address],
      maxAmount: "$0.05",
      ...change,
    },
    { stdout: { write: (text) => (printed += text) }, fetch: shop.fetch },
  );
  return { status, printed, shop };
}

describe("pay", () => {
  it("prints each step and the goods, and neither key nor signature", async () => {
    const { status, printed, shop } = await run();
    expect(status).toBe(0);
    const steps = [
      "402 Payment Required from http://shop.test/data",
      "PAYMENT-REQUIRED:",
      '"amount": "10000"',
      `Signed a payment of $0.01 of ${asset.address} on eip155:1672 to ${offer.payTo}`,
      "Answer 200, PAYMENT-RESPONSE:",
      '"transaction": "0xabab',
      "the goods",
    ];
    const places = steps.map((step) => printed.indexOf(step));
    expect(places.every((place) => place >= 0)).toBe(true);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    const { signature } = shop.payments[0]!.payload as { signature: string };
    expect(printed).not.toContain(signature);
    expect(printed).not.toContain(privateKey.slice(2));
  });

  it.each([
    [{ url: "shop.test" }, 2, 'pay: "shop.test" is not an http:// or https:// URL.'],
    [{ privateKey: "0x12" }, 2, "pay: the private key is not 0x and 64 hexadecimal digits."],
    [{ network: "1672" }, 2, 'pay: network "1672" is not of the form eip155:<chain id>.'],
    [{ assets: ["USDC"] }, 2, 'pay: asset "USDC" is not an address: 0x and 40 hexadecimal digits.'],
    [{ assets: [] }, 2, "pay: no asset is allowed; name the contract of the token that may be spent."],
    [{ maxAmount: "0.05" }, 2, 'pay: "0.05" is no amount;'],
    [{ maxAmount: "$0.001" }, 1, "costs $0.01, the cap per payment is $0.001"],
  ])("says what is wrong with %j", async (change, expected, message) => {
    const { status, printed } = await run(change);
    expect([status, printed]).toEqual([expected, expect.stringContaining(message)]);
  });

  it("fails when the server does not deliver", async () => {
    const shop = seller([offer], [() => new Response("no", { status: 502 })]);
    const { status, printed } = await run({}, shop);
    expect([status, printed]).toEqual([
      1,
      expect.stringContaining("pay: http://shop.test/data was not delivered: the server answered 502."),
    ]);
  });

  it("says why a server can't be reached", async () => {
    const refused = new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") });
    const { status, printed } = await run({}, { ...seller(), fetch: () => Promise.reject(refused) });
    expect([status, printed]).toEqual([
      1,
      "pay: http://shop.test/data can't be bought: fetch failed: connect ECONNREFUSED\n",
    ]);
  });
});
