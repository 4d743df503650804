import { doubleWait } from "#daemon/time.ts";
import type { Chain, Receipt } from "../../chain/chain.ts";
import type { Hex } from "#x402/hex.ts";
import { showsSharedTransfer } from "../../chain/transfer-method.ts";
import { decide, isOpen, type Decision, type Observation } from "./decision.ts";
import { diagnose, type Cause } from "./diagnosis.ts";
import { createGapFiller } from "./nonce-gaps.ts";
import type { Journal } from "../ledger/ledger.ts";
import type { SettlementContext } from "../context.ts";
import {
  auditSettlement,
  findNewest,
  groupByTransaction,
  type Attempt,
  type Outcome,
  type InFlightSettlement,
  type InFlightSettlements,
} from "../settlement.ts";
import type { SignerQueues } from "../submit/signer-queues.ts";

type TrackerParts = Readonly<{
  ledger: Journal;
  book: InFlightSettlements;
  queues: Pick<SignerQueues, "submit" | "replace" | "nonces">;
  /** Receives tokens whose receipts show which of several payments were executed. */
  recordUses: (asset: Hex) => void;
}>;

/** Delay between inconclusive diagnoses: starts at `initialMs`, and doubles each time up to `maxMs`. */
const rediagnose = { initialMs: 1_000, maxMs: 30_000 };

/**
 * Creates a function that checks the chain once for all in-flight settlements, including those of earlier processes, and takes the required
 * actions.
 *
 * @throws {ChainError} from the function when the node can't be queried; earlier findings are still acted on.
 */
export function createTracker(context: SettlementContext, parts: TrackerParts): () => Promise<void> {
  const { chain, monotonicMs, settlement: options } = context;
  const { book, queues } = parts;
  const fillGap = createGapFiller(context, parts);

  return async () => {
    const accounts = listAccounts([...book.all()], queues);
    const counts = accounts.map(async (signer) => [signer, await chain.transactionCount(signer, "latest")] as const);
    const [head, nextNonces] = await Promise.all([chain.head(), Promise.all(counts)]);
    const entries = [...book.all()].filter(({ attempts }) => attempts.length > 0);
    const initial: Observation = {
      head,
      nextNonces: new Map(nextNonces),
      receipts: new Map(),
      nowMs: monotonicMs(),
    };
    const observed = { ...initial, receipts: await fetchReceipts(entries, initial, chain) };
    for (const [signer, chainNext] of nextNonces) queues.nonces.get(signer)?.rebase(chainNext);
    for (const entry of entries) markLost(entry, observed);
    const decisions = entries.map((entry) => [entry, decide(entry, observed, options)] as const);
    await applyDecisions(decisions, observed, { ...context, ...parts });
    await Promise.all([...queues.nonces].map(([signer, nonces]) => fillGap(signer, nonces, entries, observed)));
  };
}

type TrackerContext = SettlementContext & TrackerParts;

function listAccounts(
  entries: readonly InFlightSettlement[],
  { nonces }: Pick<SignerQueues, "nonces">,
): readonly Hex[] {
  const signers = entries.flatMap(({ attempts }) => attempts.map(({ signer }) => signer));
  const busy = [...nonces].filter(([, each]) => each.heldCount() > 0).map(([signer]) => signer);
  return [...new Set([...signers, ...busy])];
}

async function fetchReceipts(
  entries: readonly InFlightSettlement[],
  observed: Observation,
  chain: Chain,
): Promise<ReadonlyMap<Hex, Receipt>> {
  const hashes = entries
    .filter(({ settlement, attempts }) => {
      const isExpired = BigInt(observed.head.timestamp) > settlement.validBefore;
      return isExpired || attempts.some(({ signer, nonce }) => nonce < (observed.nextNonces.get(signer) ?? 0));
    })
    .flatMap(({ attempts }) => attempts.map(({ hash }) => hash));
  const receipts = await Promise.all([...new Set(hashes)].map((hash) => chain.receipt(hash)));
  return new Map(receipts.flatMap((receipt) => (receipt === undefined ? [] : [[receipt.transactionHash, receipt]])));
}

function markLost(entry: InFlightSettlement, observed: Observation): void {
  const isLost = entry.attempts.every((attempt) => !isOpen(attempt, observed) && !observed.receipts.has(attempt.hash));
  entry.lostSinceMs = isLost ? (entry.lostSinceMs ?? observed.nowMs) : undefined;
  if (!isLost && entry.diagnosed?.cause === "lost") entry.diagnosed = undefined;
}

async function applyDecisions(
  decisions: readonly (readonly [InFlightSettlement, Decision])[],
  observed: Observation,
  context: TrackerContext,
): Promise<void> {
  const { chain, queues } = context;
  const outcomes = new Map<InFlightSettlement, Outcome>();
  const deferredWrites: Promise<unknown>[] = [];
  const resent = new Map<Hex, Attempt>();
  const groups = groupByTransaction(decisions.map(([entry]) => entry));
  for (const [entry, decision] of decisions) {
    if (decision.kind === "finish") outcomes.set(entry, decision.outcome);
    if (decision.kind === "replace") queues.replace(groups.get(findNewest(entry)?.hash) ?? [entry], decision.nonce);
    if (decision.kind === "resend" || (decision.kind === "replace" && decision.resends)) {
      entry.sentAtMs = observed.nowMs;
      for (const attempt of entry.attempts)
        if (isOpen(attempt, observed) && !isSuperseded(attempt, entry, observed)) resent.set(attempt.hash, attempt);
    }
    if (decision.kind === "diagnose") deferredWrites.push(resolveByDiagnosis(entry, decision.cause, observed, context));
  }
  for (const { rawTransaction } of resent.values()) deferredWrites.push(chain.send(rawTransaction));
  // One may fail while others are in flight. Wait for all, because nothing else handles their results.
  const ends = await Promise.allSettled([finish(outcomes, observed, context), ...deferredWrites]);
  const failure = ends.find((result) => result.status === "rejected");
  if (failure !== undefined) throw failure.reason;
}

async function resolveByDiagnosis(
  entry: InFlightSettlement,
  cause: Cause,
  observed: Observation,
  context: TrackerContext,
): Promise<void> {
  const { queues, log } = context;
  const times = entry.diagnosed?.cause === cause ? entry.diagnosed.times + 1 : 1;
  if (times === 1)
    log.warn(
      { event: "settlement-diagnosed", settlement: entry.settlement.id, cause },
      "checking the outcome of a settlement",
    );
  entry.diagnosed = { cause, times, retryAtMs: observed.nowMs + doubleWait(times, rediagnose) };
  const finding = await diagnose(entry, cause, observed, context);
  if (finding.kind === "outcome") {
    await finish(new Map([[entry, finding.outcome]]), observed, context);
    if (finding.culprit !== undefined) context.suspensions.add(finding.culprit, entry.settlement);
  }
  if (finding.kind === "send_anew") {
    if (finding.hasLackedGas) allowMoreGas(entry, log);
    queues.submit([entry]);
  }
}

function allowMoreGas(entry: InFlightSettlement, log: SettlementContext["log"]): void {
  const wasShared = findNewest(entry)?.batch !== undefined;
  if (!entry.lackedGas)
    log.warn(
      { event: "settlement-lacked-gas", settlement: entry.settlement.id },
      wasShared
        ? "a transaction with several settlements ran out of gas; sending this one alone"
        : "a settlement ran out of gas; sending it again with the max gas",
    );
  if (wasShared) entry.isSeparate = true;
  else entry.lackedGas = true;
}

async function finish(
  outcomes: ReadonlyMap<InFlightSettlement, Outcome>,
  { receipts }: Observation,
  { chainId, ledger, book, audit, recordMined, recordUses, suspensions }: TrackerContext,
): Promise<void> {
  if (outcomes.size === 0) return;
  // Do this before the ledger write: after a kill in between, the outcome is found and reported again.
  for (const [{ settlement }, outcome] of outcomes)
    audit?.add(auditSettlement(settlement, outcome, `eip155:${chainId}`));
  await recordMined?.([...outcomes.keys()], receipts);
  await ledger.finish(new Map([...outcomes].map(([{ settlement }, outcome]) => [settlement.id, outcome])));
  for (const [entry, outcome] of outcomes) {
    const { settlement } = entry;
    const isSettled = outcome.state === "settled";
    if (isSettled) suspensions.end(settlement);
    const receipt = isSettled ? receipts.get(outcome.transaction) : undefined;
    if (receipt !== undefined && showsSharedTransfer(receipt, settlement)) recordUses(settlement.asset);
    book.end(entry, outcome);
  }
}

/** Returns whether this transaction would fail, because a newer one of the settlement, which fills a nonce gap, precedes it. */
function isSuperseded({ signer, nonce }: Attempt, entry: InFlightSettlement, observed: Observation): boolean {
  const newestAttempt = findNewest(entry);
  return (
    newestAttempt !== undefined &&
    newestAttempt.signer === signer &&
    newestAttempt.nonce < nonce &&
    isOpen(newestAttempt, observed)
  );
}
