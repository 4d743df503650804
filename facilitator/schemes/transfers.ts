import { createBoundedLog, boundOfSales } from "#daemon/log/bounded-log.ts";
import { formatTraceFacts } from "#daemon/http/request-trace.ts";
import type { Logger } from "#daemon/log/log.ts";
import { answerValidUnless, type SettleAnswer } from "#x402/answer.ts";
import type { Hex } from "#x402/hex.ts";
import { namePayment, type Transfers } from "#x402/scheme.ts";
import { reason, type Refusal } from "#x402/reason.ts";
import type { SignedPayment } from "#x402/signed-payment.ts";
import type { Caller } from "../callers/caller.ts";
import { refuseAmount, type MinAmount } from "./min-amount.ts";
import type { RecentVerdicts } from "../payment/recent-verdicts.ts";
import { refuseTime } from "../payment/validity.ts";
import type { Engine } from "../settlement/engine.ts";
import { payerNotesMax } from "../settlement/ownership.ts";
import { OverloadError } from "../settlement/settlement-bound.ts";
import type { Recorded } from "../settlement/settlement.ts";

/** Network, tokens and payees that are served. */
export type TransferOptions = Pick<Transfers, "assets"> &
  Readonly<{
    network: string;
    /** Addresses in lower case; empty: everyone. */
    payees: ReadonlySet<string>;
    minAmount: MinAmount;
  }>;

export type TransferDependencies = Readonly<{
  engine: Pick<Engine, "settle" | "progress" | "noteVerified" | "forgetRefused">;
  /** Whether the chain would take the payment now, as a caller asks. */
  check: (payment: SignedPayment, caller: Caller) => Promise<Refusal | undefined>;
  recent: Pick<RecentVerdicts, "isSigned" | "noteGood" | "forgetPayer">;
  clock: () => number;
  monotonicMs: () => number;
  log: Logger;
}>;

/** Creates what schemes settle with, for each caller: transfers by EIP-3009, whatever scheme they were signed for. */
export function createTransfers(
  { network, assets, payees, minAmount }: TransferOptions,
  { engine, check, recent, clock, monotonicMs, log }: TransferDependencies,
): (caller: Caller) => Transfers {
  // Anybody can have the same payment refused, or its settlement reported again, any number of times.
  const refusals = createBoundedLog(log);
  const settlements = createBoundedLog(log, boundOfSales);
  const settleAndForgetPayer = async (payment: SignedPayment, caller: Caller): Promise<SettleAnswer> => {
    try {
      return await engine.settle(payment, caller);
    } finally {
      recent.forgetPayer(payment);
    }
  };
  const refuseUnserved = ({ payTo, asset, amount }: SignedPayment) =>
    refusePayee(payTo, payees) ?? refuseAmount(amount, minAmount(asset));
  const judge = async (payment: SignedPayment, caller: Caller): Promise<Refusal | undefined> => {
    const recorded = await engine.progress(payment);
    if (recorded !== undefined) return refuseRecorded(recorded, caller);
    const verifiedAtMs = monotonicMs();
    const refusal =
      refuseUnserved(payment) ?? refuseTime(payment.authorization, clock()) ?? (await check(payment, caller));
    if (refusal === undefined) recent.noteGood(payment, verifiedAtMs);
    return refusal;
  };
  return (caller) => ({
    assets,
    isSigned: recent.isSigned,
    async verify(payment) {
      // Before the question how far it is: so of two copies at one time, whichever is settled first finds the other noted.
      const isNoted = caller.kind !== "seller" || (await engine.noteVerified(payment, caller.owner));
      if (!isNoted) throw new OverloadError("payer", payerNotesMax);
      const refusal = await judge(payment, caller);
      // Anybody can sign what is refused, and name another seller each time.
      if (caller.kind === "seller" && refusal !== undefined) await engine.forgetRefused(payment.id, caller.owner);
      return { answer: answerValidUnless(refusal), payer: payment.payer };
    },
    async settle(payment) {
      const { payer } = payment;
      const unserved = refuseUnserved(payment);
      if (unserved !== undefined && (await engine.progress(payment)) === undefined) {
        return { answer: { state: "refused", refusal: unserved }, payer };
      }
      const answer = await settleAndForgetPayer(payment, caller);
      const lines = answer.state === "refused" ? refusals : settlements;
      const { asset, authorization } = payment;
      const name = namePayment({ network, asset, payer, nonce: authorization.nonce });
      const of = caller.request && formatTraceFacts(caller.request);
      const facts = { settlement: payment.id, payment: name, payer, ...of, ...formatAnswerFacts(answer) };
      lines.info({ event: "settle-answered", ...facts }, "settle answered");
      return { answer, payer };
    },
  });
}

/**
 * Refuses a payee that is not served; undefined if it is. It counts for settlements that are not begun: one on record
 * comes to its end whoever is served by now, and its owner is notified.
 */
function refusePayee(payTo: Hex, payees: ReadonlySet<string>): Refusal | undefined {
  if (payees.size === 0 || payees.has(payTo.toLowerCase())) return undefined;
  return { reason: reason.requirements, message: `payee ${payTo} is not served here.` };
}

/**
 * Explains why a payment whose settlement is on record is not good for another sale; undefined if it is. It still is
 * for the sale that owns it, and for anyone where nobody does: a client that comes back after `settlement_pending` has
 * to get through.
 */
function refuseRecorded(recorded: Recorded, caller: Caller): Refusal | undefined {
  if (recorded.state === "failed") return recorded;
  if (recorded.owner === undefined || (caller.kind === "sale" && caller.owner === recorded.owner)) return undefined;
  return recorded.state === "settled" ? settledBefore : beingSettled;
}

const beingSettled: Refusal = {
  reason: reason.duplicate,
  message: "the payment is being settled for another call; ask the client for another payment.",
};

const settledBefore: Refusal = {
  reason: reason.nonceUsed,
  message: "the payment was settled before; ask the client for another payment.",
};

function formatAnswerFacts(answer: SettleAnswer): Readonly<Record<string, string>> {
  if (answer.state === "refused") return { state: answer.state, reason: answer.refusal.reason };
  if (answer.state === "failed") return { state: answer.state, reason: answer.reason, transaction: answer.transaction };
  return { state: answer.state, transaction: answer.transaction };
}
