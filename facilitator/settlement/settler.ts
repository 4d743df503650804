import { ChainError } from "../chain/chain-error.ts";
import type { Hex } from "../payment/hex.ts";
import { reason, type Refusal } from "../payment/reason.ts";
import type { SignedPayment } from "../payment/signed-payment.ts";
import { refuseTime } from "../payment/validity.ts";
import { unsent, type Ending, type InFlight, type InFlightBook } from "./in-flight.ts";
import type { Ledger } from "./ledger.ts";
import { OverloadError } from "./overload-error.ts";
import type { Outcome, Settlement } from "./settlement.ts";
import type { Submitter } from "./submitter.ts";

/** How long and how many. */
export type SettlerOptions = Readonly<{ receiptTimeoutMs: number; drainMs: number; inFlightMax: number }>;

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

/** What a caller of `settle` learns: an outcome, a refusal, or that the outcome is not known yet. */
export type SettleResult = Readonly<
  Outcome | { state: "refused"; refusal: Refusal } | { state: "pending"; transaction: Hex }
>;

/** Settles payments, each at most once. */
export type Settler = Readonly<{
  /**
   * @throws {ChainError} when the chain can't be asked; nothing was sent then, and nothing will be.
   * @throws {OverloadError} when too many settlements are under way.
   */
  settle: (payment: SignedPayment) => Promise<SettleResult>;
}>;

/**
 * Makes the settler. A payment is known by the digest that its payer signed: a call for one that is under way joins it, a call
 * for one that has ended gets the same outcome, from the ledger, after any number of restarts.
 */
export function createSettler(options: SettlerOptions, dependencies: SettlerDependencies): Settler {
  const { book, ledger, submitter, check, clock, signal } = dependencies;

  const begin = async (entry: InFlight, payment: SignedPayment): Promise<void> => {
    try {
      const refusal = await check(payment);
      if (entry.abandoned) return;
      if (refusal === undefined) submitter.submit(entry);
      else book.end(entry, { state: "refused", refusal });
    } catch (error) {
      if (!entry.abandoned) book.end(entry, unsent(error instanceof Error ? error : new Error(String(error))));
    }
  };

  return {
    settle: async (payment) => {
      const running = book.get(payment.id);
      if (running !== undefined) return waitFor(running, options, { book, signal });
      const outcome = ledger.outcome(payment.id);
      if (outcome !== undefined) return outcome;
      const settlement = settlementOf(payment);
      const refusal = refuseRival(settlement, book, ledger) ?? refuseTime(payment.authorization, clock());
      if (refusal !== undefined) return { state: "refused", refusal };
      if (book.size() >= options.inFlightMax) throw new OverloadError(options.inFlightMax);
      const entry = book.add(settlement, []);
      void begin(entry, payment);
      return waitFor(entry, options, { book, signal });
    },
  };
}

function settlementOf({ id, asset, payer, payTo, amount, authorization, callData }: SignedPayment): Settlement {
  const { nonce, validBefore } = authorization;
  return { id, asset, payer, payTo, amount, authorizationNonce: nonce, validBefore, callData };
}

function refuseRival(settlement: Settlement, book: InFlightBook, ledger: Ledger): Refusal | undefined {
  if (!book.hasRival(settlement) && !ledger.hasRival(settlement)) return undefined;
  const message =
    "another payment with the same authorization nonce was settled or is being settled; sign one with a new nonce.";
  return { reason: reason.nonceUsed, message };
}

async function waitFor(
  entry: InFlight,
  { receiptTimeoutMs, drainMs }: SettlerOptions,
  { book, signal }: Pick<SettlerDependencies, "book" | "signal">,
): Promise<SettleResult> {
  const ending = await firstOf(entry.ended, { receiptTimeoutMs, drainMs }, signal);
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

/** The ending, or `undefined` when it takes too long or the process is to stop. */
async function firstOf(
  ended: Promise<Ending>,
  { receiptTimeoutMs, drainMs }: Readonly<{ receiptTimeoutMs: number; drainMs: number }>,
  signal: AbortSignal,
): Promise<Ending | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const giveUp = () => resolve(undefined);
  let timer = setTimeout(giveUp, signal.aborted ? Math.min(drainMs, receiptTimeoutMs) : receiptTimeoutMs);
  const hurry = () => {
    clearTimeout(timer);
    timer = setTimeout(giveUp, drainMs);
  };
  signal.addEventListener("abort", hurry, { once: true });
  try {
    return await Promise.race([ended, promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", hurry);
  }
}
