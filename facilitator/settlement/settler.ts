import { ChainError } from "../chain/chain-error.ts";
import type { Hex } from "../payment/hex.ts";
import { reason, type Refusal } from "../payment/reason.ts";
import type { SignedPayment } from "../payment/signed-payment.ts";
import { refuseTime } from "../payment/validity.ts";
import { unsent, type Ending, type InFlight, type InFlightBook } from "./in-flight.ts";
import type { Ledger } from "./ledger.ts";
import { OverloadError } from "./overload-error.ts";
import { withinReceiptTime, type ReceiptTime } from "./receipt-time.ts";
import type { Outcome, Settlement } from "./settlement.ts";
import type { Submitter } from "./submitter.ts";

/** How long and how many. */
export type SettlerOptions = ReceiptTime & Readonly<{ inFlightMax: number }>;

/** What settling works with. */
export type SettlerDependencies = Readonly<{
  book: InFlightBook;
  ledger: Ledger;
  submitter: Pick<Submitter, "submit">;
  /** Whether the chain would take the payment now. */
  check: (payment: SignedPayment) => Promise<Refusal | undefined>;
  clock: () => number;
  /** Aborts when the process is to stop. */
  signal: AbortSignal;
}>;

/**
 * What a caller of `settle` learns: an outcome, a refusal, or that the outcome is not known yet; the transaction is empty then while
 * a settlement that is on record waits for a replica to send it.
 */
export type SettleResult = Readonly<
  Outcome | { state: "refused"; refusal: Refusal } | { state: "pending"; transaction: Hex | "" }
>;

/** Settles payments, each at most once. */
export type Settler = Readonly<{
  /**
   * @throws {ChainError} when the chain can't be asked; nothing was sent then, and nothing will be.
   * @throws {OverloadError} when too many settlements are under way.
   * @throws {StoreError} when the ledger can't be used; settling the same payment again tells its outcome.
   */
  settle: (payment: SignedPayment) => Promise<SettleResult>;
}>;

/**
 * Makes the settler. A payment is known by the digest that its payer signed: a call for one that is under way joins it, a call
 * for one that has ended gets the same outcome, from the ledger, after any number of restarts.
 */
export function createSettler(options: SettlerOptions, dependencies: SettlerDependencies): Settler {
  const { book, ledger, submitter, check, clock, signal } = dependencies;

  const judge = async (entry: InFlight, payment: SignedPayment): Promise<Ending | undefined> => {
    const outcome = await ledger.outcome(payment.id);
    if (outcome !== undefined) return outcome;
    if (await ledger.hasRival(entry.settlement)) return { state: "refused", refusal: nonceUsed };
    const refusal = refuseTime(payment.authorization, clock()) ?? (await check(payment));
    return refusal === undefined ? undefined : { state: "refused", refusal };
  };

  const begin = async (entry: InFlight, payment: SignedPayment): Promise<void> => {
    try {
      const ending = await judge(entry, payment);
      if (entry.abandoned) return;
      if (ending === undefined) submitter.submit(entry);
      else book.end(entry, ending);
    } catch (error) {
      if (!entry.abandoned) book.end(entry, unsent(error instanceof Error ? error : new Error(String(error))));
    }
  };

  return {
    settle: async (payment) => {
      const running = book.get(payment.id);
      if (running !== undefined) return waitFor(running, options, { book, signal });
      const settlement = settlementOf(payment);
      if (book.hasRival(settlement)) {
        // A rival that the ledger is about to refuse must not hide the outcome of the payment that came before it.
        return (await ledger.outcome(payment.id)) ?? { state: "refused", refusal: nonceUsed };
      }
      if (book.size() >= options.inFlightMax) throw new OverloadError(options.inFlightMax);
      // In the book before the ledger is asked: whoever comes with the same payment meanwhile finds it there.
      const entry = book.add(settlement, []);
      void begin(entry, payment);
      return waitFor(entry, options, { book, signal });
    },
  };
}

/** A payment as it is written down. */
export function settlementOf({ id, asset, payer, payTo, amount, authorization, callData }: SignedPayment): Settlement {
  const { nonce, validBefore } = authorization;
  return { id, asset, payer, payTo, amount, authorizationNonce: nonce, validBefore, callData };
}

/** Two payments with one authorization nonce can't both be settled (EIP-3009). */
export const nonceUsed: Refusal = {
  reason: reason.nonceUsed,
  message:
    "another payment with the same authorization nonce was settled or is being settled; sign one with a new nonce.",
};

async function waitFor(
  entry: InFlight,
  time: ReceiptTime,
  { book, signal }: Pick<SettlerDependencies, "book" | "signal">,
): Promise<SettleResult> {
  const ending = await withinReceiptTime(entry.ended, time, signal);
  if (ending !== undefined) return resultOf(ending);
  const newest = entry.attempts.at(-1);
  if (newest !== undefined) return { state: "pending", transaction: newest.hash };
  entry.abandoned = true;
  book.end(entry, unsent(new ChainError("timeout", "the settlement could not be sent in time; nothing was sent")));
  return resultOf(await entry.ended);
}

function resultOf(ending: Ending): SettleResult {
  if (ending.state === "unsent") throw ending.error;
  return ending;
}
