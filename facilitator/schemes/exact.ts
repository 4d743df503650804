import { boundedLog, boundOfSales } from "#daemon/bounded-log.ts";
import type { Logger } from "#daemon/log.ts";
import { exact, type ExactPayment } from "#x402/exact.ts";
import { validUnless, type SettleAnswer } from "#x402/answer.ts";
import { reason, type Refusal } from "#x402/reason.ts";
import type { Caller } from "../callers/caller.ts";
import type { RecentVerdicts } from "../payment/recent-verdicts.ts";
import { isRefusal, signedPayment, type SignedPayment } from "../payment/signed-payment.ts";
import { refusePayee, type AcceptedTerms } from "../payment/terms.ts";
import { readTransfer } from "../payment/transfer.ts";
import { refuseTime } from "../payment/validity.ts";
import type { Engine } from "../settlement/engine.ts";
import type { Recorded } from "../settlement/settlement.ts";
import type { Order, SettlingScheme } from "./settling-scheme.ts";

/** What the scheme works with. */
export type ExactDependencies = Readonly<{
  engine: Pick<Engine, "settle" | "progress" | "noteVerified">;
  /** Whether the chain would take the payment now. */
  check: (payment: SignedPayment) => Promise<Refusal | undefined>;
  recent: Pick<RecentVerdicts, "isSigned" | "noteGood" | "forgetPayer">;
  clock: () => number;
  log: Logger;
}>;

type Judged = Readonly<{ payment: SignedPayment } | { answer: { state: "refused"; refusal: Refusal }; payer: string }>;

/** Settles scheme `exact` by EIP-3009. */
export function settleExact(
  { terms }: Readonly<{ terms: AcceptedTerms }>,
  { engine, check, recent, clock, log }: ExactDependencies,
): SettlingScheme<ExactPayment> {
  // Anybody can have the same payment refused, or its settlement told again, any number of times.
  const refusals = boundedLog(log);
  const settlements = boundedLog(log, boundOfSales);
  const judge = ({ payment, requirements, accepted }: Order<ExactPayment>): Judged => {
    const transfer = readTransfer(payment, requirements, accepted);
    const judged = signedPayment(transfer, terms, recent);
    if (!isRefusal(judged)) return { payment: judged };
    return { answer: { state: "refused", refusal: judged }, payer: transfer.authorization.from };
  };
  const settled = async (payment: SignedPayment, caller: Caller): Promise<SettleAnswer> => {
    try {
      return await engine.settle(payment, caller);
    } finally {
      recent.forgetPayer(payment);
    }
  };
  return {
    scheme: exact,
    refusePayload(payload) {
      if (!("permit2Authorization" in payload)) return undefined;
      const message = "Permit2 payments are not settled here; pay by EIP-3009 (transferWithAuthorization).";
      return { reason: reason.payloadType, message };
    },
    async verify(order, caller) {
      const judged = judge(order);
      if ("answer" in judged) return judged;
      const { payment } = judged;
      const { payer } = payment;
      // Before the question how far it is: so of two copies at one time, whichever is settled first finds the other noted.
      if (caller.kind === "seller") await engine.noteVerified(payment.id, caller.owner);
      const recorded = await engine.progress(payment);
      if (recorded !== undefined) return { answer: validUnless(refuseRecorded(recorded, caller)), payer };
      const askedAtMs = clock();
      const refusal =
        refusePayee(payment.payTo, terms) ?? refuseTime(payment.authorization, askedAtMs) ?? (await check(payment));
      if (refusal === undefined) recent.noteGood(payment, askedAtMs);
      return { answer: validUnless(refusal), payer };
    },
    async settle(order, caller) {
      const judged = judge(order);
      if ("answer" in judged) return judged;
      const { payment } = judged;
      const { payer } = payment;
      const unserved = refusePayee(payment.payTo, terms);
      if (unserved !== undefined && (await engine.progress(payment)) === undefined) {
        return { answer: { state: "refused", refusal: unserved }, payer };
      }
      const answer = await settled(payment, caller);
      const lines = answer.state === "refused" ? refusals : settlements;
      lines.info({ settlement: payment.id, payer, ...logged(answer) }, "settle answered");
      return { answer, payer };
    },
  };
}

/**
 * Why a payment whose settlement is on record is not good for another sale, if so. It still is for the sale that owns it, and for
 * anyone where nobody does: a client that comes back after `settlement_pending` has to get through.
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

function logged(answer: SettleAnswer): Readonly<Record<string, string>> {
  if (answer.state === "refused") return { state: answer.state, reason: answer.refusal.reason };
  if (answer.state === "failed") return { state: answer.state, reason: answer.reason, transaction: answer.transaction };
  return { state: answer.state, transaction: answer.transaction };
}
