import type { AuditLog } from "#daemon/audit/audit-log.ts";
import type { SqlStore } from "#daemon/sql/store.ts";
import type { SettleAnswer } from "#x402/answer.ts";
import type { SignedPayment } from "#x402/signed-payment.ts";
import type { Caller } from "../callers/caller.ts";
import type { Chain } from "../chain/chain.ts";
import { findForeignUse } from "../chain/foreign-use.ts";
import { recordForeign, type Ledger } from "./ledger/ledger.ts";
import { respondTo, type Ownership } from "./ownership.ts";
import { auditSettlement, toSettlement } from "./settlement.ts";

type ForeignDependencies = Readonly<{
  chain: Chain;
  store: SqlStore;
  ownership: Ownership;
  ledger: Pick<Ledger, "progress" | "hasConflict">;
  clock: () => number;
  audit?: AuditLog | undefined;
}>;

/** Records a payment that a third party executed before it was sent from here, for its first caller; undefined if none did. */
export type AdoptForeign = (payment: SignedPayment, caller: Caller) => Promise<SettleAnswer | undefined>;

/**
 * Creates the search for payments that were verified here and submitted by someone else before they were settled here:
 * the payer has paid. Its function throws `ChainError` when the node can't respond, and `StoreError` when the ledger is
 * unavailable.
 */
export function createForeignSettlement(
  { confirmations, chainId }: Readonly<{ confirmations: number; chainId: number }>,
  { chain, store, ownership, ledger, clock, audit }: ForeignDependencies,
): AdoptForeign {
  return async (payment, caller) => {
    const settlement = toSettlement(payment, caller.owner, clock());
    if (await ledger.hasConflict(settlement)) return undefined;
    const { number } = await chain.head();
    const use = await findForeignUse(settlement, number, chain);
    if (use?.isPaid !== true) return undefined;
    const { transactionHash: transaction, blockNumber } = use.receipt;
    if (number - blockNumber + 1 < confirmations) return { state: "pending", transaction };
    const outcome = { state: "settled", transaction, amount: payment.amount } as const;
    const isNew = await recordForeign({ chainId, store, clock }, settlement, outcome);
    // A settlement with the same nonce was recorded meanwhile, and the transaction counts for that.
    if (!isNew && (await ledger.progress(payment.id)) === undefined) return undefined;
    if (isNew) audit?.add(auditSettlement(settlement, outcome, `eip155:${chainId}`));
    const isOwner = await ownership.acquire(payment.id, caller.owner);
    return respondTo({ id: payment.id, answer: outcome, caller, isOwner }, ownership);
  };
}
