import { expect, test } from "vitest";
import type { ReportedResult, SettleResult } from "../payment-result.ts";
import { encodeInteger, type Hex } from "../hex.ts";
import type { Transfers } from "../scheme.ts";
import type { SignedPayment } from "../signed-payment.ts";
import { buildOrder, config, id as channelId } from "../testing/sample-channel.ts";
import { createChannelStates } from "./channel-states.ts";
import { claimVouchers } from "./seller-calls.ts";
import { rejectState } from "./voucher.ts";

/** A chain with a channel of 100 units, and a facilitator that settles to the given amounts. */
function openScene() {
  const chain = {
    balance: 100n,
    claimed: 0n,
    calls: [] as string[],
    answers: Promise.resolve(),
    says: "settled" as "settled" | "pending",
  };
  const settle = async ({ amount, payer }: SignedPayment): Promise<ReportedResult<SettleResult>> => {
    chain.calls.push(`settle ${amount}`);
    if (chain.says === "settled") chain.claimed += amount;
    return { result: { state: chain.says, transaction: "0xaa" }, payer };
  };
  const transfers = {
    assets: new Map([[config.token, {}]]),
    clock: () => 0,
    read: async ({ data }: { data: Hex }): Promise<Hex> => {
      const words = [chain.balance, chain.claimed];
      await chain.answers;
      chain.calls.push("read");
      return data.startsWith(channelsSelector) ? `0x${words.map(encodeInteger).join("")}` : `0x${"0".repeat(128)}`;
    },
    settle,
    settleNothing: async ({ payer }: SignedPayment) => ({ result: { state: "unused" } as const, payer }),
  } as unknown as Transfers;
  const states = createChannelStates();
  const judge = (max: bigint, { isRefund = false } = {}) =>
    states.judge({ channelId, max, isRefund }, transfers, (state) => rejectState({ channelId, max, isRefund }, state));
  const claim = (totalClaimed: bigint) => {
    const voucher = { channel: config, maxClaimableAmount: 50n };
    const payment = {
      type: "claim" as const,
      claims: [{ voucher, signature: "0x12" as Hex, totalClaimed }],
      claimAuthorizerSignature: "0x34" as Hex,
    };
    return claimVouchers(buildOrder(payment), transfers, states);
  };
  return { chain, judge, claim };
}

const channelsSelector = "0x7a7ebd7b";

test.each(["settled", "pending"] as const)(
  "rejects a voucher below the total of a claim %s, despite the cached state",
  async (says) => {
    const { chain, judge, claim } = openScene();
    chain.says = says;
    expect(await judge(40n)).toMatchObject({ balance: 100n });
    const reads = chain.calls.length;
    expect(await judge(40n)).toMatchObject({ balance: 100n });
    expect(chain.calls.length, "from what is known").toBe(reads);
    await claim(40n);
    if (says === "pending") expect(await judge(40n), "no block has it yet").toMatchObject({ balance: 100n });
    chain.claimed = 40n;
    expect(await judge(40n)).toMatchObject({ reason: "invalid_batch_settlement_evm_cumulative_below_claimed" });
  },
);

test("reads the chain for a refund, because another replica may have settled a deposit", async () => {
  const { chain, judge } = openScene();
  await judge(40n);
  chain.balance = 150n;
  expect(await judge(40n), "cached").toMatchObject({ balance: 100n });
  expect(await judge(40n, { isRefund: true })).toMatchObject({ balance: 150n });
});

test("does not cache a state read during a claim", async () => {
  const { chain, judge, claim } = openScene();
  const answered = Promise.withResolvers<void>();
  chain.answers = answered.promise;
  const judged = judge(40n);
  chain.answers = Promise.resolve();
  await claim(40n);
  answered.resolve();
  await judged;
  expect(await judge(40n)).toMatchObject({ reason: "invalid_batch_settlement_evm_cumulative_below_claimed" });
});

test("sends no transaction for a claimed total", async () => {
  const { chain, claim } = openScene();
  await claim(40n);
  expect((await claim(40n)).result).toEqual({ state: "unused" });
  expect(chain.calls.filter((call) => call.startsWith("settle"))).toEqual(["settle 40"]);
});
