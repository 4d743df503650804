import { encodePaymentRequiredHeader, encodePaymentResponseHeader } from "@x402/core/http";
import { describe, expect, it } from "vitest";
import { caps, runPay as run, url } from "./testing/run-pay.ts";
import { account, answerDelivered, asset, offer, privateKey, createSeller, settlement } from "./testing/seller.ts";

function rejecting(reason: string) {
  const paymentRequired = { x402Version: 2, error: reason, resource: { url }, accepts: [offer] };
  const headers = { "PAYMENT-REQUIRED": encodePaymentRequiredHeader(paymentRequired) };
  return createSeller([offer], [() => new Response("{}", { status: 402, headers })]);
}

describe("pay", () => {
  it("writes only the response to stdout, and each step to stderr", async () => {
    const { status, stdout, stderr } = await run(caps, createSeller());
    expect([status, stdout]).toEqual([0, "the goods"]);
    expect(stderr.trimEnd().split("\n")).toEqual([
      "402 Payment Required from http://shop.test/data",
      `Signed a payment of 10000 smallest units to ${offer.payTo}`,
      `  token ${asset.address} on eip155:1672`,
      "Settled on eip155:1672 by transaction",
      expect.stringMatching(/^  0x(ab){32}$/),
      "Response 200: 9 bytes",
    ]);
  });

  it("reports decoded headers with `verbose`, without key and signature", async () => {
    const shop = createSeller();
    const { status, stdout, stderr } = await run({ ...caps, verbose: true }, shop);
    expect([status, stdout]).toEqual([0, "the goods"]);
    const steps = [
      "402 Payment Required from http://shop.test/data",
      "PAYMENT-REQUIRED:",
      '"amount": "10000"',
      `Signed a payment of 10000 smallest units to ${offer.payTo}`,
      `token ${asset.address} on eip155:1672`,
      "Response 200, PAYMENT-RESPONSE:",
      '"transaction": "0xabab',
      "Response 200: 9 bytes",
    ];
    const places = steps.map((step) => stderr.indexOf(step));
    expect(places.every((place) => place >= 0)).toBe(true);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    const { signature } = shop.payments[0]!.payload as { signature: string };
    expect(stdout + stderr).not.toContain(signature);
    expect(stdout + stderr).not.toContain(privateKey.slice(2));
  });

  it("writes 200,000 bytes unchanged", async () => {
    const goods = new Uint8Array(200_000).map((_, index) => index % 256);
    const { bytes } = await run(caps, createSeller([offer], [() => new Response(goods)]));
    expect(bytes.equals(goods)).toBe(true);
  });

  it.each([
    [{ url: "shop.test" }, 'pay: "shop.test" is not an http:// or https:// URL.'],
    [{ privateKey: "0x12" }, "pay: the private key is not 0x and 64 hexadecimal digits."],
    [{ network: "1672" }, 'pay: network "1672" is not of the form eip155:<chain id>.'],
    [{ assets: ["USDC"] }, 'pay: asset "USDC" is not an address: 0x and 40 hexadecimal digits.'],
    [{ rpcUrl: "rpc" }, 'pay: --rpc-url "rpc" is not an http:// or https:// URL.'],
    [{ maxAmount: "bash.05" }, 'pay: --max-amount: "bash.05" is not an amount; a shell replaces $'],
    [{ maxTotal: "much" }, 'pay: --max-total: "much" is not an amount;'],
  ])("exits with 2 and a reason for %j", async (change, message) => {
    const shop = createSeller();
    const { status, stderr } = await run({ ...caps, ...change }, shop);
    expect([status, stderr, shop.payments]).toEqual([2, expect.stringContaining(message), []]);
  });

  it("rejects an amount in whole tokens with unknown decimals", async () => {
    const shop = createSeller();
    const unknown = await run({ ...caps, maxAmount: "0.05" }, shop);
    const message = `--max-amount 0.05 is in whole tokens, but the decimals of ${asset.address} are unknown.`;
    expect([unknown.status, unknown.stderr, shop.payments]).toEqual([2, expect.stringContaining(message), []]);
  });

  it.each([
    [{ maxAmount: "5" }, "costs 10000 smallest units, the cap per payment is 5 smallest units."],
    [{ dryRun: true, maxAmount: "5" }, "costs 10000 smallest units, the cap per payment is 5 smallest units."],
    [{ network: "eip155:1" }, "exact on eip155:1672: the network is not allowed"],
    [{ assets: [`0x${"01".repeat(20)}`] }, "is not in the list of allowed assets"],
  ])("exits with 3 without signing if the offer violates %j", async (change, message) => {
    const shop = createSeller();
    const { status, stderr, stdout } = await run({ ...caps, ...change }, shop);
    expect([status, stderr, stdout, shop.payments]).toEqual([3, expect.stringContaining(message), "", []]);
  });
});

it("names the option that allows an offer of a channel", async () => {
  const channel = { ...offer, scheme: "batch-settlement", extra: { receiverAuthorizer: `0x${"11".repeat(20)}` } };
  const words = 'scheme "batch-settlement" pays through a channel; pass --channels <directory>';
  for (const dryRun of [false, true]) {
    const { status, stderr } = await run({ ...caps, dryRun }, createSeller([channel]));
    expect([status, stderr]).toEqual([3, expect.stringContaining(words)]);
  }
  const { status, stderr } = await run({ ...caps, dryRun: true, channels: "channels" }, createSeller([channel]));
  expect([status, stderr]).toEqual([0, expect.stringContaining("Without --dry-run, this command pays it")]);
});

describe("pay, without limits", () => {
  it("shows the price and the options to pay it, and exits with 2", async () => {
    const shop = createSeller();
    const { status, stdout, stderr } = await run({}, shop);
    expect([status, stdout, shop.payments]).toEqual([2, "", []]);
    expect(stderr).toContain(`10000 smallest units of token ${asset.address} on eip155:1672, to ${offer.payTo}`);
    expect(stderr).toContain(
      `add: --max-amount 10000 --asset ${asset.address} --network eip155:1672 --key-file <file>`,
    );
  });

  it("shows the payment with --dry-run without a key, and exits with 0", async () => {
    const shop = createSeller();
    const { assets, maxAmount } = caps;
    const { status, stdout, stderr } = await run({ dryRun: true, assets, maxAmount }, shop);
    expect([status, stdout, shop.payments]).toEqual([0, "", []]);
    const words = `10000 smallest units of token ${asset.address} on eip155:1672 is requested. Nothing was signed. Without --dry-run, this command pays it, if the account has enough;`;
    expect(stderr).toContain(words);
  });

  it("delivers a free response", async () => {
    const { status, stdout } = await run({}, { fetch: async () => new Response("free") });
    expect([status, stdout]).toEqual([0, "free"]);
  });

  it("removes control characters from a server's text", async () => {
    const evil = { ...offer, network: "eip155:1672\u001b[2J\u009b1A" as "eip155:1672" };
    const { stderr } = await run({}, createSeller([evil]));
    // oxlint-disable-next-line no-control-regex -- asserts that they are absent
    expect(stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  });
});

function answerBusy(): Response {
  return new Response("", { status: 503, headers: { "Retry-After": "0" } });
}

describe("pay, when nothing is delivered", () => {
  it("exits with 1 and the cause if the server is unreachable", async () => {
    const rejected = new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") });
    const { status, stderr } = await run(caps, { fetch: () => Promise.reject(rejected) });
    expect([status, stderr]).toEqual([1, `pay: ${url} can't be bought: fetch failed: connect ECONNREFUSED\n`]);
  });

  it("exits with 1 on an error response without a payment request", async () => {
    const { status, stderr } = await run(caps, { fetch: async () => new Response("no", { status: 404 }) });
    const words = `pay: ${url} was not delivered: the server returned HTTP 404; no payment was signed.\n`;
    expect([status, stderr]).toEqual([1, expect.stringContaining(words)]);
    const body = { error: "payments can't be settled now" };
    const later = await run(caps, { fetch: async () => Response.json(body, { status: 503 }) });
    expect(later.stderr).toContain("returned HTTP 503 (payments can't be settled now); no payment was signed.\n");
  });

  it("reports resending a payment once for several retries", async () => {
    const busy = Array.from({ length: 3 }, () => answerBusy);
    const { status, stderr } = await run(caps, createSeller([offer], [...busy, answerDelivered]));
    expect([status, stderr.match(/Resending the same payment/g)]).toEqual([0, ["Resending the same payment"]]);
  });

  it("exits with 4 and the seller's reason for a rejected payment", async () => {
    const { status, stderr } = await run(caps, rejecting("invalid_exact_evm_signature"));
    expect([status, stderr]).toEqual([4, expect.stringContaining("returned HTTP 402: invalid_exact_evm_signature.")]);
  });

  it.each(["invalid_exact_evm_insufficient_balance", "insufficient_funds"])(
    "exits with 4 and reports account, token and price on %s",
    async (reason) => {
      const { status, stderr } = await run(caps, rejecting(reason));
      const words = `the balance of account ${account.address} in token ${asset.address} on eip155:1672 is too low: the price is 10000 smallest units,`;
      expect([status, stderr]).toEqual([4, expect.stringContaining(words)]);
    },
  );

  it("exits with 5 on an unknown outcome, with the payment's expiry", async () => {
    const { status, stdout, stderr } = await run(
      caps,
      createSeller([offer], [() => new Response("no", { status: 502 })]),
    );
    expect([status, stdout]).toEqual([5, ""]);
    expect(stderr).toContain(
      `pay: ${url} was not delivered: the server returned HTTP 502. The payment of 10000 smallest units of token`,
    );
    expect(stderr).toMatch(
      /may have been charged, or may still be until \d{4}-\d\d-\d\dT.*Z \(account 0x\w{40}, nonce 0x\w{64}\)/,
    );
    const check = `\`cast call ${asset.address} "authorizationState(address,bytes32)(bool)" ${account.address} 0x`;
    expect(stderr).toContain(check);
  });

  it("prints the server's text for a signed payment", async () => {
    const error = "payments can't be verified now; you were not charged";
    const { status, stderr } = await run(
      caps,
      createSeller([offer], [() => Response.json({ error }, { status: 502 })]),
    );
    expect([status, stderr]).toEqual([
      5,
      expect.stringContaining(`returned HTTP 502 (${error}). The payment of 10000 smallest units`),
    ]);
  });

  it("exits with 5 for a settled payment without a delivery", async () => {
    const headers = { "PAYMENT-RESPONSE": encodePaymentResponseHeader(settlement) };
    const { status } = await run(caps, createSeller([offer], [() => new Response("no", { status: 404, headers })]));
    expect(status).toBe(5);
  });
});
