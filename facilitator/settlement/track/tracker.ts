import type { Logger } from "#daemon/log/log.ts";
import { doubleWait } from "#daemon/time.ts";
import type { Chain, Receipt } from "../../chain/chain.ts";
import type { GasLimits } from "../../chain/gas-limits.ts";
import type { TransactionSigner } from "../../chain/transaction-signer.ts";
import type { Hex } from "#x402/hex.ts";
import { reason } from "#x402/reason.ts";
import type { Suspensions } from "../../payment/suspensions.ts";
import { showsSharedTransfer } from "../../chain/transfer-method.ts";
import { decide, isOpen, type Decision, type DecisionOptions, type Observation } from "./decision.ts";
import { diagnose, type Cause } from "./diagnosis.ts";
import { hasLackedGas } from "./mined-gas.ts";
import type { InFlight, InFlightBook } from "../in-flight.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Nonces } from "../submit/nonces.ts";
import type { Attempt, Outcome } from "../settlement.ts";
import type { Submitter } from "../submit/submitter.ts";

export type TrackerDependencies = Readonly<{
  chain: Chain;
  gas: GasLimits;
  readGasLimit: TransactionSigner["readGasLimit"];
  ledger: Ledger;
  book: InFlightBook;
  nonces: Nonces;
  submitter: Pick<Submitter, "submit" | "replace">;
  signer: Hex;
  monotonicMs: () => number;
  log: Logger;
  /** Receives tokens whose receipts show which of several payments were executed. */
  noteUses: (asset: Hex) => void;
  suspensions: Pick<Suspensions, "add" | "end">;
  /** Receives outcomes before any other consumer. */
  onOutcomes?: ((outcomes: ReadonlyMap<InFlight, Outcome>) => Promise<void>) | undefined;
  /** Receives ended settlements before the ledger, with the receipts of their mined transactions; more than once after a fault. */
  noteMined?: ((entries: readonly InFlight[], receipts: Observation["receipts"]) => Promise<void>) | undefined;
}>;

/** Checks the chain once for all in-flight settlements, and takes the required actions. */
export type Tracker = Readonly<{
  /**
   * @throws {ChainError} when the node can't be queried; earlier findings are still acted on.
   */
  look: () => Promise<void>;
}>;

/** Delay before our transactions are signed again because lower nonces remain unused. Below this, ours may just have been faster. */
const gapAfterMs = 1_000;

/** Delay from an inconclusive diagnosis to the next: initially, doubled each time, and max. */
const diagnoseAgain = { initialMs: 1_000, maxMs: 30_000 };

/** Creates the tracker of one signing account's transactions. */
export function createTracker(options: DecisionOptions, dependencies: TrackerDependencies): Tracker {
  const { chain, book, nonces, signer, monotonicMs, log } = dependencies;
  let gapSinceMs: number | undefined;
  return {
    look: async () => {
      const [head, nextNonce] = await Promise.all([chain.head(), chain.transactionCount(signer, "latest")]);
      const entries = [...book.all()].filter(({ attempts }) => attempts.length > 0);
      const before: Observation = { head, nextNonce, signer, receipts: new Map(), nowMs: monotonicMs() };
      const seen = { ...before, receipts: await fetchReceipts(entries, before, chain) };
      nonces.rebase(nextNonce);
      for (const entry of entries) markLost(entry, seen);
      await applyDecisions(
        entries.map((entry) => [entry, decide(entry, seen, options)]),
        seen,
        { ...options, ...dependencies },
      );
      gapSinceMs = hasGap(entries, seen) ? (gapSinceMs ?? seen.nowMs) : undefined;
      if (gapSinceMs === undefined || seen.nowMs - gapSinceMs < gapAfterMs) return;
      if ((await chain.transactionCount(signer, "pending")) > nextNonce) return;
      log.warn(
        { event: "transactions-missing", nextNonce },
        "the chain misses transactions before ours, as after going back; signing ours again",
      );
      gapSinceMs = undefined;
      closeGap(entries, seen, dependencies);
    },
  };
}

/** Fetches the receipts of all transactions that could have been mined. */
async function fetchReceipts(
  entries: readonly InFlight[],
  seen: Observation,
  chain: Chain,
): Promise<ReadonlyMap<Hex, Receipt>> {
  const hashes = entries
    .filter(({ settlement, attempts }) => {
      const isExpired = BigInt(seen.head.timestamp) > settlement.validBefore;
      return isExpired || attempts.some(({ signer, nonce }) => signer !== seen.signer || nonce < seen.nextNonce);
    })
    .flatMap(({ attempts }) => attempts.map(({ hash }) => hash));
  const receipts = await Promise.all([...new Set(hashes)].map((hash) => chain.receipt(hash)));
  return new Map(receipts.flatMap((receipt) => (receipt === undefined ? [] : [[receipt.transactionHash, receipt]])));
}

function markLost(entry: InFlight, seen: Observation): void {
  const isLost = entry.attempts.every((attempt) => !isOpen(attempt, seen) && !seen.receipts.has(attempt.hash));
  entry.lostSinceMs = isLost ? (entry.lostSinceMs ?? seen.nowMs) : undefined;
  if (!isLost && entry.diagnosed?.cause === "lost") entry.diagnosed = undefined;
}

async function applyDecisions(
  decisions: readonly (readonly [InFlight, Decision])[],
  seen: Observation,
  dependencies: TrackerDependencies & Pick<DecisionOptions, "confirmations">,
): Promise<void> {
  const { chain, submitter } = dependencies;
  const outcomes = new Map<InFlight, Outcome>();
  const later: Promise<unknown>[] = [];
  const resent = new Map<Hex, Attempt>();
  const together = groupByTransaction(decisions.map(([entry]) => entry));
  for (const [entry, decision] of decisions) {
    if (decision.kind === "finish") outcomes.set(entry, decision.outcome);
    if (decision.kind === "replace") submitter.replace(together.get(findNewest(entry)?.hash) ?? [entry]);
    if (decision.kind === "resend") {
      entry.sentAtMs = seen.nowMs;
      for (const attempt of entry.attempts) if (isOpen(attempt, seen)) resent.set(attempt.hash, attempt);
    }
    if (decision.kind === "diagnose") later.push(resolveByDiagnosis(entry, decision.cause, seen, dependencies));
  }
  for (const { rawTransaction } of resent.values()) later.push(chain.send(rawTransaction));
  // One may fail while others are in flight; wait for all, because nothing else handles their results.
  const ends = await Promise.allSettled([finish(outcomes, seen, dependencies), ...later]);
  const failure = ends.find((result) => result.status === "rejected");
  if (failure !== undefined) throw failure.reason;
}

async function resolveByDiagnosis(
  entry: InFlight,
  cause: Cause,
  seen: Observation,
  dependencies: TrackerDependencies & Pick<DecisionOptions, "confirmations">,
): Promise<void> {
  const { submitter, log } = dependencies;
  const times = entry.diagnosed?.cause === cause ? entry.diagnosed.times + 1 : 1;
  if (times === 1)
    log.warn(
      { event: "settlement-diagnosed", settlement: entry.settlement.id, cause },
      "looking for what became of a settlement",
    );
  entry.diagnosed = { cause, times, againAtMs: seen.nowMs + doubleWait(times, diagnoseAgain) };
  if (cause === "reverted" && (await hasLackedGas(entry, seen.receipts, dependencies))) {
    const wasShared = findNewest(entry)?.batch !== undefined;
    if (!entry.lackedGas)
      log.warn(
        { event: "settlement-lacked-gas", settlement: entry.settlement.id },
        wasShared
          ? "a transaction with several settlements ran out of gas; sending this one alone"
          : "a settlement ran out of gas; sending it again with the most that one may use",
      );
    if (wasShared) entry.alone = true;
    else entry.lackedGas = true;
    submitter.submit(entry);
    return;
  }
  const finding = await diagnose(entry, cause, seen.head, dependencies);
  if (finding.kind === "outcome") {
    await finish(new Map([[entry, finding.outcome]]), seen, dependencies);
    if (finding.culprit !== undefined) dependencies.suspensions.add(finding.culprit, entry.settlement);
  }
  if (finding.kind === "send_anew") submitter.submit(entry);
}

async function finish(
  outcomes: ReadonlyMap<InFlight, Outcome>,
  { receipts }: Observation,
  { ledger, book, onOutcomes, noteMined, noteUses, suspensions }: TrackerDependencies,
): Promise<void> {
  if (outcomes.size === 0) return;
  // Before the ledger: after a kill in between, the outcome is found and reported again.
  await onOutcomes?.(outcomes);
  await noteMined?.([...outcomes.keys()], receipts);
  await ledger.finish(new Map([...outcomes].map(([{ settlement }, outcome]) => [settlement.id, outcome])));
  for (const [entry, outcome] of outcomes) {
    const { settlement } = entry;
    const isSettled = outcome.state === "settled";
    if (isSettled) suspensions.end(settlement);
    else if (outcome.reason === reason.transferEvent) suspensions.add("token", settlement);
    const receipt = isSettled ? receipts.get(outcome.transaction) : undefined;
    if (receipt !== undefined && showsSharedTransfer(receipt, settlement)) noteUses(settlement.asset);
    book.end(entry, outcome);
  }
}

/** Returns whether the chain waits for a nonce that none of our transactions has, while ours have later ones. */
function hasGap(entries: readonly InFlight[], seen: Observation): boolean {
  const nonces = entries.flatMap(({ attempts }) =>
    attempts.filter((attempt) => attempt.signer === seen.signer && isOpen(attempt, seen)).map(({ nonce }) => nonce),
  );
  return nonces.length > 0 && Math.min(...nonces) > seen.nextNonce;
}

function closeGap(
  entries: readonly InFlight[],
  seen: Observation,
  { nonces, book, submitter }: Pick<TrackerDependencies, "nonces" | "book" | "submitter">,
): void {
  nonces.reset(seen.nextNonce);
  const ours = entries.filter((entry) => book.get(entry.settlement.id) === entry);
  const byNonce = ours.toSorted((a, b) => (findNewest(a)?.nonce ?? 0) - (findNewest(b)?.nonce ?? 0));
  for (const shared of groupByTransaction(byNonce).values()) submitter.submit(...shared);
}

/** Groups settlements by their newest transaction. */
function groupByTransaction(entries: readonly InFlight[]): ReadonlyMap<Hex | undefined, readonly InFlight[]> {
  return Map.groupBy(entries, (entry) => findNewest(entry)?.hash);
}

function findNewest({ attempts }: InFlight): Attempt | undefined {
  return attempts.at(-1);
}
