import type { Hex } from "#x402/hex.ts";
import type { SettlementContext } from "../context.ts";
import { findNewest, groupByTransaction, type InFlightSettlement, type InFlightSettlements } from "../settlement.ts";
import type { NonceAllocator } from "../submit/sign-batch.ts";
import type { SignerQueues } from "../submit/signer-queues.ts";
import { isExecuted, isOpen, type Observation } from "./decision.ts";
import { ranOutOfGas } from "./diagnosis.ts";

/** Delay before our transactions are signed again because lower nonces remain unused: at first, ours may just have arrived earlier. */
const gapAfterMs = 1_000;

/** Settlements that wait for a transaction, and the lowest nonce at which one of their transactions may still be mined. */
type WaitingSettlements = Readonly<{ nonce: number; entries: readonly InFlightSettlement[] }>;

/**
 * Creates a function that closes a signer's gap below its waiting transactions, once it has persisted.
 *
 * @throws {ChainError} from the function when the node can't be queried.
 */
export function createGapFiller(
  context: SettlementContext,
  { book, queues }: Readonly<{ book: InFlightSettlements; queues: Pick<SignerQueues, "submit" | "replace"> }>,
) {
  const { chain, log, settlement: options } = context;
  const gapsSinceMs = new Map<Hex, number>();

  /**
   * Signs only as many settlements again as the gap has nonces: those with the highest nonces, because the pool may still have all
   * transactions. The older transactions of settlements signed again fail if they are mined.
   */
  const moveDown = (
    signer: Hex,
    nonces: NonceAllocator,
    nextNonce: number,
    waiting: readonly WaitingSettlements[],
  ): void => {
    const end = nextNonce + waiting.length;
    const { kept = [], moved = [] } = Object.groupBy(waiting, ({ nonce }) => (nonce < end ? "kept" : "moved"));
    nonces.reset(nextNonce, kept);
    for (const entry of kept.flatMap(({ entries }) => entries)) entry.sentAtMs = undefined;
    for (const { entries } of moved) queues.submit(entries, signer);
  };

  return async (
    signer: Hex,
    nonces: NonceAllocator,
    entries: readonly InFlightSettlement[],
    observed: Observation,
  ): Promise<void> => {
    const nextNonce = observed.nextNonces.get(signer);
    if (nextNonce === undefined) return;
    const waiting = listWaiting(signer, entries, observed, book);
    const sinceMs = (waiting[0]?.nonce ?? 0) > nextNonce ? (gapsSinceMs.get(signer) ?? observed.nowMs) : undefined;
    if (sinceMs === undefined) gapsSinceMs.delete(signer);
    else gapsSinceMs.set(signer, sinceMs);
    if (sinceMs === undefined || observed.nowMs - sinceMs < gapAfterMs) return;
    if ((await chain.transactionCount(signer, "pending")) > nextNonce) {
      if (observed.nowMs - sinceMs < options.bumpAfterMs) return;
      // The next payment's transaction replaces an expired payment's transaction whose fee is too low.
      gapsSinceMs.set(signer, observed.nowMs);
      for (const entry of entries)
        if (hasMined(entry, observed) && (await ranOutOfGas(entry, observed.receipts, context))) entry.lackedGas = true;
      const unmined = waiting.find((each) => !each.entries.some((entry) => hasMined(entry, observed)));
      queues.replace((unmined ?? waiting[0])?.entries ?? [], nextNonce);
      return;
    }
    log.warn(
      { event: "transactions-missing", signer, nextNonce },
      "earlier transactions of the signer are missing on the chain, as after a reorg or rollback; filling the gap with later ones",
    );
    gapsSinceMs.delete(signer);
    moveDown(signer, nonces, nextNonce, waiting);
  };
}

/** Returns whether a transaction of an in-flight settlement was mined: it failed, or is not confirmed yet. */
function hasMined({ attempts }: InFlightSettlement, { receipts }: Observation): boolean {
  return attempts.some(({ hash }) => receipts.has(hash));
}

/** Lists an account's settlements that no mined transaction has executed, by their nonces. */
function listWaiting(
  account: Hex,
  entries: readonly InFlightSettlement[],
  observed: Observation,
  book: Pick<InFlightSettlements, "get">,
): readonly WaitingSettlements[] {
  const isExecutedBy = (entry: InFlightSettlement, hash: Hex): boolean => {
    const receipt = observed.receipts.get(hash);
    return receipt !== undefined && isExecuted(entry, receipt);
  };
  const findNonce = ({ attempts }: InFlightSettlement): number =>
    Math.min(...attempts.filter((each) => each.signer === account && isOpen(each, observed)).map(({ nonce }) => nonce));
  const own = entries.filter(
    (entry) =>
      book.get(entry.settlement.id) === entry &&
      findNewest(entry)?.signer === account &&
      !entry.attempts.some(({ hash }) => isExecutedBy(entry, hash)),
  );
  return [...groupByTransaction(own).values()]
    .map((group) => ({ nonce: Math.min(...group.map(findNonce)), entries: group }))
    .filter(({ nonce }) => nonce < Infinity)
    .toSorted((a, b) => a.nonce - b.nonce);
}
