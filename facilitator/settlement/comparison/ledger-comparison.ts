import type { Logger } from "#daemon/log/log.ts";
import { pauseInBackground, repeat, type Pause } from "#daemon/time.ts";
import type { Hex } from "#x402/hex.ts";
import { createLedgerWalk, type Mismatch, type WalkDependencies } from "./ledger-walk.ts";

/** Result of the comparisons so far. */
export type LedgerComparison = Readonly<{
  /** Settlements that are settled in the ledger but missing on the chain; `undefined` if the last check failed. */
  mismatches: number | undefined;
  /** Start of the last successful check, in milliseconds since 1970. */
  atMs: number;
}>;

export type LedgerComparisonOptions = Readonly<{ chainId: number; compareIntervalMs: number }>;

type Dependencies = WalkDependencies &
  Readonly<{
    log: Logger;
    pause?: Pause;
    /** Returns whether this process settles; comparison by one replica is enough. */
    isSettler: () => boolean;
  }>;

/** Periodic comparison of the ledger. Disposal stops it. */
export type ComparedLedger = AsyncDisposable &
  Readonly<{
    /** `undefined` before the first successful check, and in a replica that does not settle. */
    comparison: () => LedgerComparison | undefined;
  }>;

/**
 * Compares the ledger with the chain: each settlement of the last hour must have a receipt of a successful transaction with the transfer.
 * Checks are limited in size (`ledger-walk.ts`). Changes nothing: the operator decides which of the two is right.
 */
export function startLedgerComparison(
  { chainId, compareIntervalMs }: LedgerComparisonOptions,
  dependencies: Dependencies,
): ComparedLedger {
  const { log, isSettler, pause = pauseInBackground } = dependencies;
  let walk = createLedgerWalk({ chainId }, dependencies);
  let last: LedgerComparison | undefined;
  const report = createReporter(log);
  const compare = async () => {
    if (!isSettler()) {
      last = undefined;
      walk = createLedgerWalk({ chainId }, dependencies);
      return;
    }
    const { mismatches, atMs } = await walk.compareNext();
    report(mismatches);
    last = { mismatches: mismatches.length, atMs };
  };
  const failed = (error: unknown) => {
    last = last && { ...last, mismatches: undefined };
    log.warn(
      { event: "ledger-not-reconciled", err: error, retryInMs: compareIntervalMs },
      "can't compare the ledger with the chain",
    );
  };
  // Compare immediately, so that the state of a correct ledger is known from the start.
  const comparing = repeat(compare, { intervalMs: compareIntervalMs, failed }, { pause });
  return { comparison: () => last, [Symbol.asyncDispose]: () => comparing[Symbol.asyncDispose]() };
}

const notOnChain = "the ledger says that a payment is settled, and the chain does not have it";
const notAtNode =
  "the ledger says that a payment is settled, and the node, whose newest block is older than that, does not have it: the node is behind";

/** Logs each mismatch once, and once more if it persists after a lagging node has caught up. */
function createReporter(log: Logger): (mismatches: readonly Mismatch[]) => void {
  let logged: ReadonlyMap<Hex, readonly string[]> = new Map();
  return (mismatches) => {
    const next = new Map<Hex, readonly string[]>();
    for (const { settlement, transaction, found, isNodeBehind } of mismatches) {
      const { id, payer, payTo, asset, amount } = settlement;
      const text = isNodeBehind ? notAtNode : notOnChain;
      const before = logged.get(id) ?? [];
      const isLogged = before.includes(text);
      next.set(id, isLogged ? before : [...before, text]);
      if (isLogged) continue;
      const event = isNodeBehind ? "ledger-node-behind" : "ledger-mismatch";
      log.error({ event, settlement: id, transaction, found, payer, payTo, asset, amount: String(amount) }, text);
    }
    logged = next;
  };
}
