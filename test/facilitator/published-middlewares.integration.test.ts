import { useFacilitatorScene } from "../support/facilitator/facilitator-scene.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { generousMs, until } from "#daemon/testing/until.ts";
import { startPaymentChain, testAccount } from "../support/payments/payment-chain.ts";
import { sendCopies, startPublishedSeller, type PublishedSeller } from "../support/facilitator/published-seller.ts";
import { createLedgerFolder, startFacilitatorInProcess } from "../support/facilitator/running-facilitator.ts";
import { amount } from "../support/facilitator/signed-payment.ts";

const scene = useFacilitatorScene({ ledger: "sellers" });
const payee = testAccount(2).address;

/** Starts the published middleware in front of the facilitator. */
function seller(framework: "hono" | "express", paymentFlow?: "upfront"): Promise<PublishedSeller> {
  const flow = paymentFlow === undefined ? {} : { paymentFlow };
  return startPublishedSeller({ framework, facilitatorUrl: scene.facilitator.url, token: scene.chain.token, ...flow });
}

/** The work is charged once, regardless of what was delivered. */
async function gainOf(work: () => Promise<number>): Promise<Readonly<{ delivered: number; gained: bigint }>> {
  const balanceBefore = await scene.chain.balanceOf(payee);
  const delivered = await work();
  return { delivered, gained: (await scene.chain.balanceOf(payee)) - balanceBefore };
}

const once = { delivered: 1, gained: amount };

describe.each(["hono", "express"] as const)("@x402/%s", (framework) => {
  let shop: PublishedSeller;
  beforeAll(async () => {
    shop = await seller(framework);
  });
  afterAll(() => shop[Symbol.asyncDispose]());

  test("delivers once for a hundred concurrent copies of a payment to a fast and a slow route", async () => {
    const header = await shop.signPayment("/quick");
    const urls = [shop.urlOf("/quick"), shop.urlOf("/slow")];
    expect(await gainOf(() => sendCopies(header, urls, 100))).toEqual(once);
    expect(await sendCopies(header, urls, 4)).toBe(0);
  });

  test("delivers for each of ten concurrent payments", async () => {
    const headers = await Promise.all(Array.from({ length: 10 }, () => shop.signPayment("/quick")));
    const sold = await Promise.all(headers.map((header) => sendCopies(header, [shop.urlOf("/quick")], 1)));
    expect(sold).toEqual(headers.map(() => 1));
  });
});

test("two independent sellers deliver once for one payment", async () => {
  await using first = await seller("hono");
  await using secondSeller = await seller("express");
  const header = await first.signPayment("/quick");
  const urls = [first.urlOf("/quick"), secondSeller.urlOf("/quick"), first.urlOf("/slow"), secondSeller.urlOf("/slow")];
  expect(await gainOf(() => sendCopies(header, urls, 100))).toEqual(once);
});

test("a seller that settles without verifying delivers once", async () => {
  await using shop = await seller("hono", "upfront");
  const header = await shop.signPayment("/quick");
  const urls = [shop.urlOf("/quick"), shop.urlOf("/slow")];
  expect(await gainOf(() => sendCopies(header, urls, 20))).toEqual(once);
  expect(await sendCopies(header, urls, 4)).toBe(0);
});

test("delivers on the middleware's own retry when the receipt is late", async () => {
  await using slow = await startPaymentChain({ blockTimeSeconds: 3_600 });
  await using ledger = await createLedgerFolder();
  const env = { GATEHOUSE_FACILITATOR_SETTLEMENT_RECEIPT_TIMEOUT_MS: "2000" };
  const place = { rpcUrl: slow.url, token: slow.token, ledgerPath: ledger.path("late"), env };
  await using late = await startFacilitatorInProcess(place);
  await using shop = await startPublishedSeller({ framework: "hono", facilitatorUrl: late.url, token: slow.token });
  const buying = sendCopies(await shop.signPayment("/quick"), [shop.urlOf("/quick")], 1);
  await until("the middleware got settlement_pending", generousMs, async () => {
    const metrics = await (await fetch(`${late.operationsUrl}/metrics`)).text();
    return /settle_duration_seconds_count\{[^}]*outcome="settlement_pending"[^}]*\} 1/.test(metrics);
  });
  await slow.anvil.mine();
  expect(await buying).toBe(1);
});
