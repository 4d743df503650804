import type { Logger } from "#daemon/log/log.ts";
import type { SqlStore } from "#daemon/sql/store.ts";
import { pauseInBackground, repeat, type Pause } from "#daemon/time.ts";
import type { Hex } from "#x402/hex.ts";
import type { Chain, Receipt } from "../chain/chain.ts";
import { showsTransfer } from "../chain/transfer-method.ts";
import { readSettledAfter, type FinishedSettlement, type LedgerLocation } from "./ledger/settlement-queries.ts";

export type LedgerComparison = Readonly<{
  /** Settlements that are settled in the ledger but missing on the chain; `undefined` if the last check failed. */
  mismatches: number | undefined;
  /** Start of the last successful check, in milliseconds since 1970. */
  atMs: number;
}>;

type Mismatch = FinishedSettlement & Readonly<{ found: string; foundAtMs: number }>;

type Dependencies = Readonly<{
  store: Pick<SqlStore, "rows">;
  chain: Pick<Chain, "head" | "receipt">;
  clock: () => number;
  log: Logger;
  pause?: Pause;
  isSettler: () => boolean;
}>;

/** Age of the oldest settlement compared: a reorganization or a node's data loss shows up in recent settlements. */
const windowMs = 3_600_000;
/** With several nodes behind one URL, a lagging node may not have the newest blocks yet. */
const settlementAgeMinMs = 30_000;
/** Max settlements per check, besides known mismatches; at the default interval, more than eight a second. */
const comparedMax = 500;
const recheckedMax = 100;
const knownMax = 1_000;
/** These calls share JSON-RPC batches with the payments' calls, so their number is small. */
const concurrentReceiptsMax = 20;

/**
 * Compares the ledger with the chain: each settlement of the last hour must have a receipt of a successful transaction with the transfer.
 * Each check continues where the previous one stopped, from the oldest to the newest and then again. A mismatch counts for an hour, or
 * until the chain has the settlement, so that an alert that waits for minutes sees it. Changes nothing: the operator decides whether ledger
 * or chain is correct. Disposal stops it.
 */
export function startLedgerComparison(
  { chainId, compareIntervalMs }: Readonly<{ chainId: number; compareIntervalMs: number }>,
  { store, chain, clock, log, isSettler, pause = pauseInBackground }: Dependencies,
): AsyncDisposable & Readonly<{ comparison: () => LedgerComparison | undefined }> {
  let position: LedgerLocation | undefined;
  let knownMismatches: ReadonlyMap<Hex, Mismatch> = new Map();
  let lastComparison: LedgerComparison | undefined;
  const compareNext = async (): Promise<void> => {
    const atMs = clock();
    const oldest: LedgerLocation = { finishedAtMs: atMs - windowMs, id: "" };
    const start = position === undefined || position.finishedAtMs < oldest.finishedAtMs ? oldest : position;
    const range = { after: start, beforeMs: atMs - settlementAgeMinMs, max: comparedMax };
    const nextSettlements = await readSettledAfter(range, { chainId }, { store });
    const recheckedMismatches = [...knownMismatches.values()].slice(0, recheckedMax);
    const comparedSettlements = new Map(
      [...recheckedMismatches, ...nextSettlements].map((one) => [one.settlement.id, one]),
    );
    const foundMismatches = await findMismatches([...comparedSettlements.values()], chain);
    const uncheckedMismatches = [...knownMismatches].filter(([id]) => !comparedSettlements.has(id));
    const newMismatches = foundMismatches.map((one): [Hex, Mismatch] => {
      const { id } = one.settlement;
      return [id, { ...one, foundAtMs: knownMismatches.get(id)?.foundAtMs ?? atMs }];
    });
    const mismatches = [...uncheckedMismatches, ...newMismatches]
      .filter(([, { foundAtMs }]) => foundAtMs > atMs - windowMs)
      .slice(0, knownMax);
    for (const [id, mismatch] of mismatches) if (!knownMismatches.has(id)) report(mismatch, log);
    knownMismatches = new Map(mismatches);
    const newestSettlement = nextSettlements.length < comparedMax ? undefined : nextSettlements.at(-1);
    position = newestSettlement && {
      finishedAtMs: newestSettlement.finishedAtMs,
      id: newestSettlement.settlement.id,
    };
    lastComparison = { mismatches: knownMismatches.size, atMs };
  };
  const compare = async (): Promise<void> => {
    if (isSettler()) return compareNext();
    [position, knownMismatches, lastComparison] = [undefined, new Map(), undefined];
  };
  const onFailure = (error: unknown) => {
    lastComparison = lastComparison && { ...lastComparison, mismatches: undefined };
    log.warn(
      { event: "ledger-not-reconciled", err: error, retryInMs: compareIntervalMs },
      "can't compare the ledger with the chain",
    );
  };
  // Compare immediately, so that the state of a correct ledger is known from the start.
  const repetition = repeat(compare, { intervalMs: compareIntervalMs, failed: onFailure }, { pause });
  return { comparison: () => lastComparison, [Symbol.asyncDispose]: () => repetition[Symbol.asyncDispose]() };
}

function report({ settlement, transaction, found }: Mismatch, log: Logger): void {
  const { id, payer, payTo, asset, amount } = settlement;
  log.error(
    { event: "ledger-mismatch", settlement: id, transaction, found, payer, payTo, asset, amount: String(amount) },
    "the ledger has a payment as settled, but the chain does not have it",
  );
}

async function findMismatches(
  settlements: readonly FinishedSettlement[],
  chain: Dependencies["chain"],
): Promise<readonly Omit<Mismatch, "foundAtMs">[]> {
  if (settlements.length === 0) return [];
  // Read before the receipts, so that a node that catches up in between is reported as behind, never the reverse.
  const head = await chain.head();
  const mismatches: Omit<Mismatch, "foundAtMs">[] = [];
  for (let at = 0; at < settlements.length; at += concurrentReceiptsMax) {
    const chunk = settlements.slice(at, at + concurrentReceiptsMax);
    const hashes = [...new Set(chunk.map(({ transaction }) => transaction))];
    const receipts = new Map(await Promise.all(hashes.map(async (hash) => [hash, await chain.receipt(hash)] as const)));
    for (const one of chunk) {
      const missing = describeMissingOnChain(one.settlement, receipts.get(one.transaction));
      const isBehind = missing === noReceipt && head.timestamp * 1_000 < one.finishedAtMs;
      if (missing !== undefined)
        mismatches.push({
          ...one,
          found: isBehind ? `${missing}: the node's newest block is older` : missing,
        });
    }
  }
  return mismatches;
}

const noReceipt = "no receipt";

/** Describes what the chain lacks for a settlement; `undefined` if nothing. */
export function describeMissingOnChain(
  settlement: FinishedSettlement["settlement"],
  receipt: Receipt | undefined,
): string | undefined {
  if (receipt === undefined) return noReceipt;
  if (receipt.status !== 1) return "a transaction that was reverted";
  // The transaction may be that of a third party that executed the same authorization; it contains the same transfer.
  return showsTransfer(receipt, settlement) ? undefined : "a transaction without the transfer";
}
