import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PaymentRequirements } from "@x402/core/types";
import { computeChannelId } from "@x402/evm/batch-settlement/client";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, expect, test } from "vitest";
import { createChannelPayments } from "./channel-payments.ts";
import { createSpendingBudget } from "./spending-budget.ts";

const account = privateKeyToAccount(`0x${"59".repeat(32)}`);
const offer = (payTo: string): PaymentRequirements => ({
  scheme: "batch-settlement",
  network: "eip155:1672",
  asset: `0x${"22".repeat(20)}`,
  payTo: `0x${payTo.repeat(20)}`,
  amount: "10",
  maxTimeoutSeconds: 60,
  extra: { receiverAuthorizer: `0x${"11".repeat(20)}`, withdrawDelay: 900, name: "USDC", version: "2" },
});

const resources = new AsyncDisposableStack();
afterAll(() => resources.disposeAsync());

/** Opens a buyer with a budget of this many units, whose deposits cover five payments of 10. */
async function openBuyer(units = 60n, files?: string) {
  const directory = files ?? (await mkdtemp(join(tmpdir(), "gatehouse-channels-")));
  if (files === undefined) resources.defer(() => rm(directory, { recursive: true }));
  const budget = createSpendingBudget({ kind: "units", units });
  const channels = createChannelPayments({ directory }, budget);
  const signer = await channels.scheme.signer(account);
  const sign = async (accepted: PaymentRequirements, by = signer) => {
    const { payload } = await by.createPaymentPayload(2, accepted);
    return payload as Readonly<{
      channelConfig: Parameters<typeof computeChannelId>[0];
      voucher: Readonly<{ maxClaimableAmount: string; signature: string }>;
      deposit?: Readonly<{ amount: string }>;
    }>;
  };
  /** Pays an offer and returns the deposited amount. */
  const pay = async (accepted: PaymentRequirements) => {
    using _begun = await channels.begin({ offer: accepted, decimals: 6 });
    return (await sign(accepted)).deposit?.amount;
  };
  /** Signs a payment for a request, then another after the seller rejected the first with `state`. Returns both. */
  const signPair = async (accepted: PaymentRequirements, state: SellersState, error = "cumulative_amount_mismatch") => {
    const request = await channels.scheme.signer(account);
    const { channelConfig, ...payment } = await sign(accepted, request);
    const channelState = { channelId: computeChannelId(channelConfig, accepted.network), ...state.channelState };
    const told = { ...accepted, extra: { ...accepted.extra, ...state, channelState } };
    await request.schemeHooks?.onPaymentResponse?.({
      paymentPayload: { x402Version: 2, accepted, payload: { channelConfig, ...payment } },
      requirements: accepted,
      paymentRequired: {
        x402Version: 2,
        error: `invalid_batch_settlement_evm_${error}`,
        resource: { url: "" },
        accepts: [told],
      },
    });
    return [payment, await sign(accepted, request)] as const;
  };
  const signTwice = async (accepted: PaymentRequirements, state: SellersState) =>
    (await signPair(accepted, state)).map(({ voucher }) => voucher.maxClaimableAmount);
  return { directory, budget, channels, signer, sign, pay, signPair, signTwice };
}

type SellersState = Readonly<{
  channelState: Readonly<Record<string, string>>;
  voucherState?: Readonly<{ signedMaxClaimable: string; signature: string }>;
}>;

test("limits deposits to all sellers by one budget", async () => {
  const { pay, budget } = await openBuyer();
  expect(await pay(offer("33"))).toBe("50");
  expect(await pay(offer("44")), "what is left").toBe("10");
  expect(budget.left(6)).toBe(0n);
  await expect(pay(offer("55"))).rejects.toThrow(/the cap is 60/);
});

test("makes no deposit if the seller claims more than the balance", async () => {
  const { channels, signTwice } = await openBuyer();
  using _begun = await channels.begin({ offer: offer("33"), decimals: 6 });
  const lie = { channelState: { balance: "0", totalClaimed: "10" } };
  await expect(signTwice(offer("33"), lie)).rejects.toThrow(/charged more than it holds/);
});

test("signs no voucher if the seller claims more than the signed total", async () => {
  const { channels, signTwice, sign } = await openBuyer(600n);
  using _begun = await channels.begin({ offer: offer("33"), decimals: 6 });
  await expect(signTwice(offer("33"), { channelState: { balance: "50", totalClaimed: "40" } })).rejects.toThrow(
    /was charged 40, but vouchers were signed for 10/,
  );
  const { voucher } = await sign(offer("33"), await channels.scheme.signer(account));
  const total = { balance: "50", totalClaimed: "0", chargedCumulativeAmount: "40" };
  const forged = { channelState: total, voucherState: { signedMaxClaimable: "40", signature: voucher.signature } };
  expect(await signTwice(offer("33"), forged), "a signature of another total").toEqual(["10", "10"]);
});

test("signs for at most one price more than it had before the request", async () => {
  const { channels, signTwice } = await openBuyer();
  using _begun = await channels.begin({ offer: offer("33"), decimals: 6 });
  const state = { channelState: { balance: "50", totalClaimed: "10" } };
  await expect(signTwice(offer("33"), state), "the request itself").rejects.toThrow(/request again/);
  expect(await signTwice(offer("33"), state), "an earlier request").toEqual(["20", "20"]);
});

test("continues from the seller's returned voucher after losing its files", async () => {
  const first = await openBuyer();
  using _first = await first.channels.begin({ offer: { ...offer("33"), amount: "40" }, decimals: 6 });
  const { voucher } = await first.sign({ ...offer("33"), amount: "40" });
  const second = await openBuyer();
  using _second = await second.channels.begin({ offer: offer("33"), decimals: 6 });
  const state = {
    channelState: { balance: "50", totalClaimed: "0", chargedCumulativeAmount: "38" },
    voucherState: { signedMaxClaimable: "40", signature: voucher.signature },
  };
  expect(await second.signTwice(offer("33"), state)).toEqual(["10", "48"]);
});

test("after a kill, deposits again only if the seller rejects the first deposit", async () => {
  const killed = await openBuyer();
  expect(await killed.pay(offer("33"))).toBe("50");
  const restarted = await openBuyer(60n, killed.directory);
  expect(await restarted.pay(offer("33")), "the deposit may have been made").toBeUndefined();
  using _begun = await restarted.channels.begin({ offer: offer("33"), decimals: 6 });
  const state = { channelState: { balance: "0", totalClaimed: "0" } };
  const reject = async (error: string) =>
    (await restarted.signPair(offer("33"), state, error)).map(({ deposit }) => deposit?.amount);
  expect(await reject("channel_busy"), "its first request may be in flight").toEqual([undefined, undefined]);
  expect(await reject("cumulative_exceeds_balance")).toEqual([undefined, "50"]);
  expect((await restarted.sign(offer("33"), await restarted.channels.scheme.signer(account))).deposit).toBeUndefined();
});
