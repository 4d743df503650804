import { FairSlots } from "#daemon/fair-shares.ts";
import { StoreError } from "#daemon/sql/store.ts";
import { OverloadError, type Caller } from "../callers/caller.ts";
import { ChainError } from "../chain/chain-error.ts";
import type { SettleResult } from "#x402/payment-result.ts";
import { reason, type Rejection } from "#x402/reason.ts";
import type { SignedPayment } from "#x402/signed-payment.ts";
import type { SettlementContext } from "./context.ts";
import type { Ledger } from "./ledger/ledger.ts";
import type { PayerFunds } from "./payer-funds.ts";
import type { SignerQueues } from "./submit/signer-queues.ts";
import { respondTo, type Ownership } from "./ownership.ts";
import {
  toSettlement,
  type RecordedSettlement,
  type InFlightSettlement,
  type InFlightSettlements,
} from "./settlement.ts";

export function createSettlementOverload(full: "caller" | "all", most: number): OverloadError {
  const all = `${most} settlements are in flight, which is the limit`;
  const what = full === "caller" ? "too many of your settlements are in flight" : all;
  return new OverloadError(503, `${what}; try again in a moment`);
}

type SettlerParts = Readonly<{
  book: InFlightSettlements;
  funds: PayerFunds;
  ledger: Ledger;
  ownership: Ownership;
  queues: Pick<SignerQueues, "submit">;
}>;

export type Settler = Readonly<{
  /**
   * @throws {ChainError} when the chain can't be queried; nothing was sent, and nothing will be.
   * @throws {OverloadError} when too many settlements are in flight, in total or for this caller.
   * @throws {StoreError} when the ledger is unavailable; settling the same payment again returns its outcome.
   */
  settle: (payment: SignedPayment, caller: Caller) => Promise<SettleResult>;
}>;

/**
 * Creates the settler. A payment is identified by the digest that its payer signed. A call for an in-flight payment waits for the same
 * outcome, and a call for a finished one gets it from the ledger, even after restarts; `ownership.ts` decides which callers may.
 */
export function createSettler(
  context: SettlementContext,
  { book, funds, ledger, ownership, queues }: SettlerParts,
): Settler {
  const { check, clock } = context;
  const { inFlightMax } = context.settlement;
  const slots = new FairSlots(inFlightMax);

  const checkSettlement = async (
    entry: InFlightSettlement,
    payment: SignedPayment,
  ): Promise<SettleResult | undefined> => {
    const progress = await ledger.progress(payment.id);
    entry.unrecorded = progress === undefined;
    if (progress !== undefined) entry.owner = await resolveOwner(progress, entry, ownership);
    if (progress !== undefined && progress.state !== "begun") return progress;
    // Zero needs no transaction: if nothing is recorded, no settlement of another amount is in flight.
    if (payment.amount === 0n)
      return progress === undefined ? { state: "unused" } : { state: "pending", transaction: "" };
    if (await ledger.hasConflict(entry.settlement)) return { state: "rejected", rejection: nonceUsed };
    using spending = funds.open(entry.settlement);
    const rejection =
      (await check(payment)) ??
      (await spending.reserve(entry.ended, { isSimulated: true, recheck: () => check(payment) }));
    return rejection === undefined ? undefined : { state: "rejected", rejection };
  };

  const begin = async (entry: InFlightSettlement, payment: SignedPayment): Promise<void> => {
    try {
      const result = await checkSettlement(entry, payment);
      if (entry.abandoned) return;
      if (result === undefined) queues.submit([entry]);
      else book.end(entry, result);
    } catch (error) {
      if (!entry.abandoned) book.end(entry, error instanceof Error ? error : new Error(String(error)));
    }
  };

  const startSettlement = (payment: SignedPayment, caller: Caller): InFlightSettlement | undefined => {
    const settlement = toSettlement(payment, caller.owner, clock());
    if (book.hasConflict(settlement)) return undefined;
    if (book.size() >= inFlightMax) throw createSettlementOverload("all", inFlightMax);
    const slot = acquireSettlementSlot(slots, caller);
    // Add it before querying the ledger, so that concurrent callers with the same payment find it.
    const entry = book.add(settlement, []);
    void entry.ended.then(() => slot?.[Symbol.dispose]());
    void begin(entry, payment);
    return entry;
  };

  return {
    settle: async (payment, caller) => {
      const { id } = payment;
      await waitForOther(payment, book, context);
      const entry = book.get(id) ?? startSettlement(payment, caller);
      if (entry === undefined) {
        // A conflicting payment that the ledger is about to reject must not hide the earlier payment's outcome.
        const progress = await ledger.progress(id);
        if (progress === undefined || progress.state === "begun") return { state: "rejected", rejection: nonceUsed };
        const isOwner = await ownership.acquire(id, caller.owner);
        return respondTo({ id, result: progress, caller, isOwner }, ownership);
      }
      if (entry.owner === undefined) await setOwner(entry, caller, ownership);
      const result = await waitForResult(entry, caller, book, context);
      const isOwner = entry.owner === caller.owner;
      const reportedResult = await respondTo({ id, result, caller, isOwner }, ownership);
      if (isOwner && result.state === "pending" && caller.kind === "call") entry.owner = undefined;
      return reportedResult;
    },
  };
}

/** Returns the owner of a recorded settlement; if there is none, makes its requester the owner. */
async function resolveOwner(
  { owner }: RecordedSettlement,
  { settlement, owner: claimant }: InFlightSettlement,
  ownership: Ownership,
): Promise<string | undefined> {
  if (owner !== undefined || claimant === undefined) return owner;
  return (await ownership.acquire(settlement.id, claimant)) ? claimant : undefined;
}

async function setOwner(entry: InFlightSettlement, { owner }: Caller, ownership: Ownership): Promise<void> {
  // Sets the owner immediately, so that the second of two concurrent callers finds the first.
  entry.owner = owner;
  if (!(await ownership.acquire(entry.settlement.id, owner))) entry.owner = undefined;
}

export const nonceUsed: Rejection = {
  reason: reason.nonceUsed,
  message:
    "another payment with the same authorization nonce was settled or is being settled; sign one with a new nonce.",
};

/** Waits until another call for the same payment is sent or ends; that call may be rejected although this one is valid. */
async function waitForOther(
  { id, callData }: SignedPayment,
  book: InFlightSettlements,
  context: SettlementContext,
): Promise<void> {
  for (let entry = book.get(id); entry !== undefined; entry = book.get(id)) {
    if (entry.settlement.callData === callData || entry.attempts.length > 0) return;
    if ((await waitWithinReceiptTimeout(entry.ended, context)) === undefined) return;
  }
}

async function waitForResult(
  entry: InFlightSettlement,
  caller: Caller,
  book: InFlightSettlements,
  context: SettlementContext,
): Promise<SettleResult> {
  const outcome = await waitWithinReceiptTimeout(entry.ended, context);
  if (outcome !== undefined) return requireResult(outcome);
  const newestAttempt = entry.attempts.at(-1);
  if (newestAttempt !== undefined) return { state: "pending", transaction: newestAttempt.hash };
  if (entry.signed || entry.owner !== caller.owner) return { state: "pending", transaction: "" };
  entry.abandoned = true;
  const error = entry.unrecorded
    ? new ChainError("timeout", "the settlement could not be sent in time; nothing was sent")
    : new StoreError("the ledger did not respond in time; settle the same payment again to learn its outcome");
  book.end(entry, error);
  return requireResult(await entry.ended);
}

function requireResult(outcome: SettleResult | Error): SettleResult {
  if (outcome instanceof Error) throw outcome;
  return outcome;
}

/**
 * Acquires a slot for a settlement that the caller starts. Returns undefined for a caller in this process, which is not limited by slots.
 *
 * @throws {OverloadError} when the caller has used its share, or no slot is free.
 */
export function acquireSettlementSlot(slots: FairSlots, { waiting }: Pick<Caller, "waiting">): Disposable | undefined {
  if (waiting === undefined || waiting.caller === "") return undefined;
  const entry = slots.enter(waiting.caller);
  if (!entry.ok) throw createSettlementOverload(entry.full, slots.max);
  return entry.slot;
}

/** Waits for the outcome; returns `undefined` on timeout or when `signal` reports that the process is stopping. */
export async function waitWithinReceiptTimeout<Ending>(
  outcome: Promise<Ending>,
  {
    settlement: { receiptTimeoutMs, drainMs },
    pause,
    signal,
  }: Pick<SettlementContext, "settlement" | "pause" | "signal">,
): Promise<Ending | undefined> {
  const over = new AbortController();
  const hurry = new AbortController();
  const onStop = () => hurry.abort();
  signal.addEventListener("abort", onStop, { once: true });
  const timeout = async (): Promise<undefined> => {
    if (!signal.aborted) await pause(receiptTimeoutMs, hurry.signal);
    if (signal.aborted) await pause(Math.min(drainMs, receiptTimeoutMs), over.signal);
  };
  try {
    return await Promise.race([outcome, timeout()]);
  } finally {
    signal.removeEventListener("abort", onStop);
    over.abort();
    hurry.abort();
  }
}
