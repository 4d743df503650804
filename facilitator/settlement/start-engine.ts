import type { SqlStore } from "#daemon/sql/store.ts";
import type { SettleResult } from "#x402/payment-result.ts";
import { encodeBytes, type Hex } from "#x402/hex.ts";
import type { SignedPayment } from "#x402/signed-payment.ts";
import type { Caller } from "../callers/caller.ts";
import { isConfirmed } from "../chain/chain.ts";
import { findForeignUse } from "../chain/foreign-use.ts";
import type { SettlementContext } from "./context.ts";
import { startSoleEngine } from "./engine.ts";
import { startLedgerComparison } from "./ledger-comparison.ts";
import { createSharedLedger } from "./leader/shared-ledger.ts";
import { startSharedEngine } from "./leader/shared-settler.ts";
import { createLedger, createRecordChecks, recordForeign, type Ledger } from "./ledger/ledger.ts";
import type { LedgerStore } from "./ledger/open-ledger.ts";
import { createOwnership, respondTo, type Ownership } from "./ownership.ts";
import { auditSettlement, toSettlement } from "./settlement.ts";

export type ComparedEngine = Awaited<ReturnType<typeof startEngine>>;

/** Starts the engine, which compares its ledger with the chain, and records what third parties settled. */
export async function startEngine(
  context: SettlementContext & LedgerStore,
  { compareIntervalMs }: Readonly<{ compareIntervalMs: number }>,
) {
  const { chainId, isShared } = context;
  await using resources = new AsyncDisposableStack();
  const ledger = createLedger(context, context);
  const { findCall } = createRecordChecks(context);
  const ownership = createOwnership(context, context);
  const {
    callInFlight,
    settling: settlementProcess,
    ...engine
  } = isShared
    ? startSharedEngine(context, createSharedLedger(context, context))
    : await startSoleEngine(context, ledger, ownership);
  resources.use(engine);
  const isSettler = () => settlementProcess() !== undefined;
  const ledgerComparison = startLedgerComparison({ chainId, compareIntervalMs }, { ...context, isSettler });
  const { comparison } = resources.use(ledgerComparison);
  const ownedResources = resources.move();
  return {
    ...engine,
    ...ownership,
    inFlight: () => settlementProcess()?.book.size() ?? 0,
    /** Returns the age of the oldest in-flight settlement here, in milliseconds; 0 if none. */
    oldestMs: () => settlementProcess()?.book.oldestMs() ?? 0,
    /** States of the signers; undefined in a replica that is not settling. */
    signerStates: () => settlementProcess()?.queues.states(),
    /** Records, for its first caller, a payment that a third party executed before we sent it; undefined if none did. */
    adopt: (payment: SignedPayment, caller: Caller) =>
      adoptExternalPayment(payment, caller, { ...context, ledger, ownership }),
    /** Returns whether a settlement has started with the same signature, which was valid at that time. Throws `StoreError`. */
    hasBegun: async (payment: Pick<SignedPayment, "id" | "callData" | "walletSignature">): Promise<boolean> =>
      // Query the ledger first: settlements stay in flight until they are recorded.
      hasSameSignature(await findCall(payment.id), payment) || hasSameSignature(callInFlight(payment.id), payment),
    /** `undefined` before the first successful comparison with the chain, and in a replica that does not settle. */
    comparison,
    [Symbol.asyncDispose]: () => ownedResources.disposeAsync(),
  };
}

/** Returns whether a call contains a payment's signature, perhaps for another amount; the signature is always the last argument. */
function hasSameSignature(
  call: Hex | undefined,
  { callData, walletSignature }: Pick<SignedPayment, "callData" | "walletSignature">,
): boolean {
  if (call === undefined || call === callData) return call !== undefined;
  return walletSignature !== undefined && call.endsWith(encodeBytes(walletSignature));
}

/**
 * Adopts a payment that was verified here but submitted by someone else: the payer has paid.
 *
 * @throws {ChainError} when the node doesn't respond.
 * @throws {StoreError} when the ledger is unavailable.
 */
async function adoptExternalPayment(
  payment: SignedPayment,
  caller: Caller,
  context: SettlementContext & Readonly<{ store: SqlStore; ledger: Ledger; ownership: Ownership }>,
): Promise<SettleResult | undefined> {
  const { chain, audit, ledger, ownership } = context;
  const settlement = toSettlement(payment, caller.owner, context.clock());
  if (await ledger.hasConflict(settlement)) return undefined;
  const head = await chain.head();
  const use = await findForeignUse(settlement, head.number, chain);
  if (use?.isPaid !== true) return undefined;
  const { transactionHash: transaction } = use.receipt;
  if (!isConfirmed(use.receipt, head, context.settlement)) return { state: "pending", transaction };
  const outcome = { state: "settled", transaction, amount: payment.amount } as const;
  const isNew = await recordForeign(context, settlement, outcome);
  // A settlement with the same nonce was recorded in the meantime, so the transaction counts for it instead.
  if (!isNew && (await ledger.progress(payment.id)) === undefined) return undefined;
  if (isNew) audit?.add(auditSettlement(settlement, outcome, `eip155:${context.chainId}`));
  const isOwner = await ownership.acquire(payment.id, caller.owner);
  return respondTo({ id: payment.id, result: outcome, caller, isOwner }, ownership);
}
