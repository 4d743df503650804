import type { Logger } from "#daemon/log.ts";
import type { Hex } from "#x402/hex.ts";
import type { Chain, Receipt } from "../../chain/chain.ts";
import { showsTransfer } from "../track/transfer-proof.ts";
import type { FinishedSettlement, FinishedSettlements } from "../ledger/finished-settlements.ts";

/** What the last comparison found. */
export type LedgerComparison = Readonly<{
  /** Settlements that the ledger says are settled, and that the chain does not have. */
  mismatches: number;
  /** Milliseconds since 1970. */
  atMs: number;
}>;

/** What a comparison looks at, and how often. */
export type LedgerComparisonOptions = Readonly<{ compareIntervalMs: number }>;

type Dependencies = Readonly<{
  finished: FinishedSettlements;
  chain: Pick<Chain, "receipt">;
  clock: () => number;
  log: Logger;
  /** Whether this process settles; one replica's comparison is enough. */
  isSettler: () => boolean;
}>;

/** Compares, now and then. Disposing of it ends that. */
export type ComparedLedger = AsyncDisposable &
  Readonly<{
    /** `undefined` before the first comparison, and in a replica that does not settle. */
    comparison: () => LedgerComparison | undefined;
  }>;

/** How far back a comparison looks: a reorganisation, or a node that lost data, shows in what was settled lately. */
const windowMs = 3_600_000;
/** With several nodes behind one URL, one that lags may not have the newest blocks yet. */
const settledLongEnoughMs = 30_000;
const comparedMax = 100;

/**
 * Compares the ledger with the chain: of the newest settlements of the last hour, at most {@link comparedMax} at a time, each has to have a receipt
 * of a transaction that succeeded and shows the transfer. It changes nothing: which of the two is right is for a person to say.
 */
export function startLedgerComparison(
  { compareIntervalMs }: LedgerComparisonOptions,
  dependencies: Dependencies,
): ComparedLedger {
  const { log, isSettler } = dependencies;
  let last: LedgerComparison | undefined;
  let told: ReadonlySet<Hex> = new Set();
  const compare = async () => {
    try {
      const { mismatched, atMs } = await compareOnce(dependencies);
      for (const { settlement, transaction, found } of mismatched.filter(({ settlement: { id } }) => !told.has(id))) {
        const { id, payer, payTo, asset, amount } = settlement;
        log.error(
          {
            settlement: id,
            transaction,
            found,
            payer,
            payTo,
            asset,
            amount: String(amount),
            runbook: "docs/runbooks/ledger-mismatch.md",
          },
          "the ledger says that a payment is settled, and the chain does not have it",
        );
      }
      told = new Set(mismatched.map(({ settlement }) => settlement.id));
      last = { mismatches: mismatched.length, atMs };
    } catch (error) {
      log.warn({ err: error, retryInMs: compareIntervalMs }, "can't compare the ledger with the chain");
    }
  };
  let comparing: Promise<void> | undefined;
  const timer = setInterval(() => {
    if (isSettler()) comparing ??= compare().finally(() => (comparing = undefined));
    else last = undefined;
  }, compareIntervalMs).unref();
  return {
    comparison: () => last,
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      await comparing;
    },
  };
}

type Mismatch = FinishedSettlement & Readonly<{ found: string }>;

async function compareOnce({
  finished,
  chain,
  clock,
}: Dependencies): Promise<Readonly<{ mismatched: readonly Mismatch[]; atMs: number }>> {
  const atMs = clock();
  const rows = await finished.settledBetween(atMs - windowMs, atMs - settledLongEnoughMs, comparedMax);
  const receipts = await Promise.all(rows.map(({ transaction }) => chain.receipt(transaction)));
  const mismatched = rows.flatMap(({ settlement, transaction }, index) => {
    const found = lackOf(settlement, receipts[index]);
    return found === undefined ? [] : [{ settlement, transaction, found }];
  });
  return { mismatched, atMs };
}

/** What the chain lacks of a settlement; `undefined` where it has all. */
function lackOf(settlement: FinishedSettlement["settlement"], receipt: Receipt | undefined): string | undefined {
  if (receipt === undefined) return "no receipt";
  if (receipt.status !== 1) return "a transaction that was reverted";
  // The settlement's transaction may be a stranger's who carried out the same authorization; its transfer stands in it just so.
  return showsTransfer(receipt, settlement) ? undefined : "a transaction without the transfer";
}
