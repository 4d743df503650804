import type { SettleResponse } from "@x402/core/types";
import { pino } from "pino";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { Facilitation, PresentedPayment } from "../facilitators/facilitation.ts";
import { openTestChannels } from "../testing/claim-store.ts";
import { authorizer, config, id, offer, payer, sign } from "../testing/sample-channel.ts";
import { facilitateChannels } from "./channel-facilitation.ts";
import { createChannelMetrics } from "./channel-metrics.ts";

/** Opens a seller's channel of 100 units on the chain, with a facilitator that responds to settlements with `answer`. */
function openDesk(firstResponse: Partial<SettleResponse>, log = pino({ level: "silent" })) {
  const ledger = openTestChannels(Date.now, { log });
  const chain = { balance: "100", totalClaimed: "0", withdrawRequestedAt: 0, refundNonce: "0" };
  const sentRequests: Record<string, unknown>[] = [];
  let response = firstResponse;
  const facilitation = {
    verify: async () => ({ isValid: true, payer, extra: { ...chain } }),
    settle: async (payment: PresentedPayment) => {
      sentRequests.push(payment.sent.payload);
      return { success: false, transaction: "", network: "eip155:1672", ...response };
    },
  } as unknown as Facilitation;
  const registry = new Registry();
  const metrics = createChannelMetrics(registry);
  const parts = { ledger, authorizer, metrics, clock: Date.now, withdrawDelaySeconds: 900 };
  const desk = facilitateChannels(facilitation, parts);
  let sales = 0;
  const settle = (payment: PresentedPayment, sale: string) => desk.settle(payment, offer, sale);
  /** Verifies and settles a payment; returns the reason for a failure, if any. */
  const pay = async (payment: PresentedPayment) => {
    const { isValid, invalidReason } = await desk.verify(payment, offer);
    if (!isValid) return invalidReason;
    const amount = payment.sent.payload["type"] === "refund" ? "0" : offer.amount;
    return (await desk.settle(payment, { ...offer, amount }, `sale-${(sales += 1)}`)).errorReason;
  };
  const findUnclaimed = async () =>
    (await registry.getSingleMetric("gatehouse_channels_unclaimed_units")?.get())?.values.map(({ value }) => value);
  return {
    pay,
    settle,
    respond: (next: Partial<SettleResponse>) => (response = next),
    sentRequests,
    chain,
    ledger,
    findUnclaimed,
    [Symbol.asyncDispose]: () => ledger[Symbol.asyncDispose](),
  };
}

test("refunds the deposit minus the charges even if the buyer requests all of it", async () => {
  await using desk = openDesk({ success: true });
  expect(await desk.pay(sign("voucher", 10n))).toBeUndefined();
  expect(await desk.pay(sign("refund", 10n, 2n ** 128n - 1n))).toBeUndefined();
  expect(desk.sentRequests).toMatchObject([{ type: "refund", amount: "90", claims: [{ totalClaimed: "10" }] }]);
});

test("immediately counts a charge as unclaimed, until a refund claims it", async () => {
  await using desk = openDesk({ success: true });
  expect(await desk.pay(sign("voucher", 10n))).toBeUndefined();
  expect(await desk.pay(sign("voucher", 20n))).toBeUndefined();
  expect(await desk.findUnclaimed()).toEqual([20]);
  expect(await desk.pay(sign("refund", 20n))).toBeUndefined();
  expect(await desk.findUnclaimed()).toEqual([0]);
});

test("subtracts a failed refund from the balance until the chain counts its nonce", async () => {
  await using desk = openDesk({ errorReason: "invalid_batch_settlement_evm_refund_transaction_failed" });
  expect(await desk.pay(sign("voucher", 10n))).toBeUndefined();
  expect(await desk.pay(sign("refund", 10n, 80n))).toMatch(/refund_transaction_failed/);
  expect(await desk.pay(sign("voucher", 20n)), "100 minus 80 covers 20").toBeUndefined();
  expect(await desk.pay(sign("voucher", 30n))).toBe("invalid_batch_settlement_evm_cumulative_exceeds_balance");
  expect(await desk.pay(sign("refund", 20n, 1n))).toMatch(/refund_transaction_failed/);
  expect(desk.sentRequests.at(-1), "the larger signed refund of the nonce stays valid").toMatchObject({ amount: "80" });
  expect(await desk.pay(sign("voucher", 30n))).toBe("invalid_batch_settlement_evm_cumulative_exceeds_balance");
  Object.assign(desk.chain, { balance: "99", refundNonce: "1" });
  expect(await desk.pay(sign("voucher", 30n))).toBeUndefined();
});

test("rejects vouchers of a channel whose claim the chain rejected, but allows its refund", async () => {
  await using desk = openDesk({ success: true });
  expect(await desk.pay(sign("voucher", 10n))).toBeUndefined();
  await desk.ledger.postpone(id, { isRejected: true });
  expect(await desk.pay(sign("voucher", 20n))).toBe("invalid_batch_settlement_evm_cumulative_exceeds_balance");
  expect(await desk.pay(sign("refund", 10n))).toBeUndefined();
});

test("charges a sale once when a killed process's settlement is retried after another sale", async () => {
  await using desk = openDesk({ success: true });
  expect(await desk.pay(sign("voucher", 10n))).toBeUndefined();
  expect(await desk.settle(sign("voucher", 20n), "killed")).toMatchObject({ success: true });
  expect(await desk.settle(sign("voucher", 30n), "next")).toMatchObject({ success: true });
  expect(await desk.settle(sign("voucher", 20n), "killed")).toMatchObject({
    success: true,
    extra: { chargedAmount: "10" },
  });
  expect(await desk.ledger.find(id), "charged once").toMatchObject({ charged: 30n, voucher: { max: 30n } });
});

/** Adds a deposit to a voucher. */
function withDeposit({ sent }: PresentedPayment): PresentedPayment {
  const erc3009Authorization = {
    validAfter: "0",
    validBefore: "9999999999",
    salt: "1",
    signature: `0x${"12".repeat(65)}`,
  };
  const deposit = { amount: "100", authorization: { erc3009Authorization } };
  return { sent: { ...sent, payload: { ...sent.payload, type: "deposit", deposit } } };
}

test.each([
  ["invalid_exact_evm_nonce_already_used", { success: true, extra: { chargedAmount: "10" } }],
  ["invalid_batch_settlement_evm_deposit_simulation_failed", { success: true, extra: { chargedAmount: "10" } }],
  ["settlement_pending", { success: false, errorReason: "settlement_pending" }],
])("a retried deposit rejected with %s was charged by the killed process", async (errorReason, retried) => {
  await using desk = openDesk({ success: true });
  const payment = withDeposit(sign("voucher", 10n));
  await desk.ledger.observe(
    { id, network: "eip155:1672", config },
    { balance: 100n, totalClaimed: 0n, withdrawRequestedAt: 0, refundNonce: 0n },
  );
  expect(await desk.settle(payment, "killed")).toMatchObject({ success: true });
  desk.respond({ success: false, errorReason });
  expect(await desk.settle(payment, "killed")).toMatchObject(retried);
  const next = withDeposit(sign("voucher", 20n));
  expect(await desk.settle(next, "next"), "a deposit that was not charged").toMatchObject({
    success: false,
    errorReason,
  });
  expect(await desk.ledger.find(id)).toMatchObject({ charged: 10n });
});

test("continues from the chain's claimed total if it exceeds the ledger's charges, and logs channel-claimed-elsewhere", async () => {
  const lines: string[] = [];
  await using desk = openDesk({ success: true }, pino({}, { write: (line) => void lines.push(line) }));
  expect(await desk.pay(sign("voucher", 10n))).toBeUndefined();
  expect(lines).toEqual([]);
  Object.assign(desk.chain, { totalClaimed: "30" });
  expect(await desk.pay(sign("voucher", 40n)), "the buyer learns the total").toBeUndefined();
  expect(await desk.ledger.find(id)).toMatchObject({ charged: 40n, voucher: { max: 40n } });
  expect(lines).toEqual([expect.stringContaining("channel-claimed-elsewhere")]);
});

test("rejects a sale with cumulative_amount_mismatch after another ledger claimed more", async () => {
  await using desk = openDesk({ success: true });
  expect(await desk.pay(sign("voucher", 10n))).toBeUndefined();
  await desk.ledger.observe(
    { id, network: "eip155:1672", config },
    { balance: 100n, totalClaimed: 30n, withdrawRequestedAt: 0, refundNonce: 0n },
  );
  const rejectedResponse = { success: false, errorReason: "invalid_batch_settlement_evm_cumulative_amount_mismatch" };
  expect(await desk.settle(sign("voucher", 20n), "overtaken")).toMatchObject(rejectedResponse);
  Object.assign(desk.chain, { totalClaimed: "30" });
  expect(await desk.pay(sign("voucher", 40n)), "the channel continues").toBeUndefined();
  expect(await desk.settle(sign("voucher", 20n), "overtaken"), "after another sale").toMatchObject(rejectedResponse);
});
