import type { SettleResponse } from "@x402/core/types";
import { pino } from "pino";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { formatState } from "#x402/batch-settlement/channel-states.ts";
import { channelPayload } from "#x402/batch-settlement/payload.ts";
import { FacilitationError, type Facilitation, type PresentedPayment } from "../facilitators/facilitation.ts";
import { openTestChannels } from "../testing/claim-store.ts";
import { authorizer, id, offer, payer, sign, withdrawDelay } from "../testing/sample-channel.ts";
import { facilitateChannels } from "./channel-facilitation.ts";
import { createChannelMetrics } from "./channel-metrics.ts";
import { claimChannels } from "./claim-loop.ts";

/** Responses to the first claims. */
type Fault = "none" | "chain rejects three" | "facilitator rejects three" | "facilitator is down for two minutes";

const buildRejection = (errorReason: string): SettleResponse => ({
  success: false,
  errorReason,
  transaction: "",
  network: offer.network,
});

/**
 * A chain with one channel, whose payer may withdraw; the facilitator reads it at most once a minute. `clock`
 * returns Unix ms.
 */
function createWorld(clock: () => number, fault: Fault) {
  const channel = { balance: 10_000n, totalClaimed: 0n, withdrawRequestedAt: 0, refundNonce: 0n };
  let cachedState = { state: { ...channel }, atMs: Number.NEGATIVE_INFINITY };
  const claims = { count: 0, firstMs: Number.POSITIVE_INFINITY };
  const fail = (): SettleResponse | undefined => {
    claims.count += 1;
    claims.firstMs = Math.min(claims.firstMs, clock());
    if (fault === "facilitator is down for two minutes" && clock() - claims.firstMs < 120_000)
      throw new FacilitationError("unreachable", "down");
    if (claims.count > 3) return undefined;
    if (fault === "chain rejects three") return buildRejection("invalid_batch_settlement_evm_claim_transaction_failed");
    return fault === "facilitator rejects three" ? buildRejection("invalid_payment_requirements") : undefined;
  };
  const facilitation = {
    async verify() {
      if (clock() - cachedState.atMs >= 60_000) cachedState = { state: { ...channel }, atMs: clock() };
      return { isValid: true, payer, extra: formatState(id, cachedState.state) };
    },
    async settle({ sent }: PresentedPayment) {
      const payment = channelPayload.parse(sent.payload);
      const fine = { success: true, transaction: "0x", network: offer.network };
      if (payment.type !== "claim") return fine;
      const failure = fail();
      if (failure !== undefined) return failure;
      for (const { totalClaimed } of payment.claims) {
        if (totalClaimed > channel.balance)
          return buildRejection("invalid_batch_settlement_evm_claim_simulation_failed");
        if (totalClaimed > channel.totalClaimed) channel.totalClaimed = totalClaimed;
      }
      return fine;
    },
  } as unknown as Facilitation;
  return {
    facilitation,
    channel,
    requestWithdrawal: () => void (channel.withdrawRequestedAt = clock() / 1_000),
    withdraw: () => void (channel.balance = channel.totalClaimed),
  };
}

/**
 * Sells every 20 s for 20 minutes to a buyer that withdraws at `requestMs`; returns the amounts charged and claimed on the chain.
 */
async function sellUntilWithdrawal(
  requestMs: number,
  fault: Fault,
): Promise<readonly [charged: bigint, claimed: bigint]> {
  const startMs = 1_000_000_000;
  let nowMs = startMs;
  const clock = () => nowMs;
  await using ledger = openTestChannels(clock);
  const world = createWorld(clock, fault);
  const log = pino({ level: "silent" });
  const metrics = createChannelMetrics(new Registry());
  const dependencies = { ledger, authorizer, clock, log, metrics, facilitation: world.facilitation };
  const desk = facilitateChannels(world.facilitation, { ...dependencies, withdrawDelaySeconds: withdrawDelay });
  let chargedAmount = 0n;
  const buy = async () => {
    const payment = sign("voucher", chargedAmount + 10n);
    if (!(await desk.verify(payment, offer)).isValid) return;
    if ((await desk.settle(payment, offer, `sale-${chargedAmount}`)).success) chargedAmount += 10n;
  };
  const events = [
    ...Array.from({ length: 60 }, (_, index) => ({ atMs: index * 20_000, act: buy })),
    { atMs: requestMs, act: world.requestWithdrawal },
    { atMs: requestMs + withdrawDelay * 1_000, act: world.withdraw },
  ].toSorted((one, other) => one.atMs - other.atMs);
  const { promise: completion, resolve: end } = Promise.withResolvers<void>();
  const pause = async (ms: number) => {
    nowMs += ms;
    while ((events[0]?.atMs ?? Number.POSITIVE_INFINITY) <= nowMs - startMs) await events.shift()?.act();
    if (events.length === 0) end();
    await new Promise(setImmediate);
  };
  const options = { intervalMs: 3_000, claimWithinMs: 300_000, nodeLagMs: 60_000, retentionMs: 1e12 };
  await using loop = claimChannels(options, { ...dependencies, pause });
  await completion;
  await loop[Symbol.asyncDispose]();
  return [chargedAmount, world.channel.totalClaimed];
}

test.each<Fault>(["none", "chain rejects three", "facilitator rejects three", "facilitator is down for two minutes"])(
  "claims all charges before a forced withdrawal requested at any time (fault: %s)",
  async (fault) => {
    for (let requestMs = 1_000; requestMs < 1_200_000; requestMs += 240_000) {
      const [chargedAmount, claimedAmount] = await sellUntilWithdrawal(requestMs, fault);
      expect(chargedAmount).toBeGreaterThan(0n);
      // After the withdrawal, the seller keeps selling only if it has not noticed a loss.
      expect(claimedAmount, `withdrawal requested after ${requestMs} ms`).toBe(chargedAmount);
    }
  },
);
