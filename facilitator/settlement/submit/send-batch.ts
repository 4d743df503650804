import type { Hex } from "#x402/hex.ts";
import type { Chain, SendOutcome } from "../../chain/chain.ts";
import { ChainError } from "../../chain/chain-error.ts";
import { readGasLimit } from "../../chain/transaction-signer.ts";
import type { Journal } from "../ledger/ledger.ts";
import { createBatchPlanner, type Job } from "./batch-planner.ts";
import { signBatch, type NonceAllocator, type SignedJob, type SigningAccount } from "./sign-batch.ts";
import type { SettlementContext } from "../context.ts";
import type { Attempt, InFlightSettlement } from "../settlement.ts";

export type UnsentBatch = Readonly<{ entry: InFlightSettlement; failure: Error }>;

/** Number of signed transactions, the jobs that need another one immediately, and the unsent settlements. */
export type BatchOutcome = Readonly<{ signed: number; again: readonly Job[]; unsent: readonly UnsentBatch[] }>;

/** Max foreign transactions at a settlement's nonce before it is left to the tracker. */
const foreignNoncesMax = 5;

/**
 * Creates the function that signs, journals and sends a batch, in this order, so that after any crash the journal has each transaction that
 * may have been sent. If the nonce was taken, it requests another transaction.
 *
 * @throws {ChainError} from the function when fees, nonce or signatures are unavailable; nothing was sent.
 */
export function createSendBatch(
  context: SettlementContext,
  account: SigningAccount,
  { ledger, logsUses }: Readonly<{ ledger: Journal; logsUses: (asset: Hex) => boolean }>,
): (jobs: readonly Job[]) => Promise<BatchOutcome> {
  const { chain, fees, gas, monotonicMs } = context;
  const { nonces, signer } = account;
  const plan = createBatchPlanner(context, { signer: signer.address, logsUses });
  let noncesAreStale = true;
  return async (jobs) => {
    const nextNonce =
      noncesAreStale || nonces.heldCount() === 0 ? chain.transactionCount(signer.address, "pending") : undefined;
    // No estimate exists for a payment that another replica checked, or whose estimate was evicted.
    const unmeasured = jobs
      .flatMap(({ entries }) => entries)
      .filter(({ settlement, attempts }) => attempts.length === 0 && gas.find(settlement) === undefined);
    const simulations = Promise.all(unmeasured.map(({ settlement }) => gas.simulate(settlement, chain)));
    const plannedJobs = simulations.then(() => plan(jobs));
    const [now, freeNonce, transactions] = await Promise.all([fees.quote(), nextNonce, plannedJobs]);
    if (freeNonce !== undefined) nonces.startFrom(freeNonce);
    noncesAreStale = false;
    const signedJobs = await signBatch(transactions, now, context, account);
    await recordBatch(signedJobs, ledger, nonces);
    for (const { entry, attempt } of signedJobs.flatMap(({ items }) => items)) {
      entry.attempts = [...entry.attempts, attempt];
      entry.sentAtMs = monotonicMs();
      entry.pricedAtMs = entry.sentAtMs;
      entry.rejectedFees = undefined;
      entry.lostSinceMs = undefined;
      entry.diagnosed = undefined;
    }
    const outcomes = await Promise.all(signedJobs.map(({ transaction }) => send(chain, transaction.rawTransaction)));
    const retriedJobs: Job[] = [];
    const unsent: UnsentBatch[] = [];
    for (const [index, sent] of signedJobs.entries()) {
      const outcome = outcomes[index];
      if (outcome === undefined || outcome.kind === "accepted") continue;
      const rejectedJobs = await handleRejected(sent, outcome, context, account, ledger);
      if (outcome.kind === "nonce_taken" && rejectedJobs.again.length > 0) noncesAreStale = true;
      retriedJobs.push(...rejectedJobs.again);
      unsent.push(...rejectedJobs.unsent);
    }
    return { signed: signedJobs.length, again: retriedJobs, unsent };
  };
}

async function recordBatch(signed: readonly SignedJob[], ledger: Journal, nonces: NonceAllocator): Promise<void> {
  try {
    const items = signed.flatMap((job) => job.items);
    await ledger.begin(items.map(({ entry, attempt }) => ({ settlement: entry.settlement, attempt })));
  } catch (error) {
    for (const { replaced, transaction } of signed) if (replaced === undefined) nonces.release(transaction.nonce);
    throw error;
  }
}

async function send(chain: Chain, rawTransaction: Attempt["rawTransaction"]): Promise<SendOutcome> {
  try {
    return await chain.send(rawTransaction);
  } catch (error) {
    if (error instanceof ChainError) return { kind: "unknown", message: error.message };
    throw error;
  }
}

/**
 * Handles a transaction that the node did not accept. Returns the jobs that need another one, because the nonce was
 * foreign or the settlements need separate transactions, and those that this account can't send.
 */
async function handleRejected(
  { items, replaced, transaction, pricedBeforeMs }: SignedJob,
  outcome: Exclude<SendOutcome, { kind: "accepted" }>,
  { settlement, log }: SettlementContext,
  { nonces, recordProblem }: SigningAccount,
  ledger: Journal,
): Promise<Omit<BatchOutcome, "signed">> {
  const entries = items.map(({ entry }) => entry);
  const facts = {
    settlement: entries[0]?.settlement.id,
    settlements: entries.length,
    transaction: transaction.hash,
    nonce: transaction.nonce,
    answer: outcome.message,
  };
  if (outcome.kind === "unknown") {
    log.warn(
      { event: "transaction-unanswered", ...facts },
      "the node did not report whether it accepted a transaction; it will be resent",
    );
    return { again: [], unsent: [] };
  }
  if (outcome.kind === "nonce_taken" && replaced === undefined) {
    log.warn(
      { event: "transaction-nonce-taken", ...facts },
      "another transaction used this nonce; signing again with the next one",
    );
    // A transaction waiting at a higher nonce was signed again to fill a gap; the tracker resends the others, whatever filled the gap.
    const isWaiting = ({ attempts }: InFlightSettlement) => attempts.some(({ nonce }) => nonce > transaction.nonce);
    const isRetry = entries.every((entry) => entry.attempts.length <= foreignNoncesMax && !isWaiting(entry));
    return { again: isRetry ? [{ entries, replaced }] : [], unsent: [] };
  }
  log.warn({ event: "transaction-rejected", ...facts }, "the node rejected a transaction");
  // Do this before the ledger write: if the write fails, the transaction must not be resent, whether it is recorded or not. Its nonce is
  // free anyway, because the ledger deletes the transaction before the next one starts.
  for (const entry of entries) {
    entry.attempts = entry.attempts.filter(({ hash }) => hash !== transaction.hash);
    entry.pricedAtMs = pricedBeforeMs;
    // The blocking transaction, of a payment that has ended, may offer a higher fee than this settlement's transactions.
    if (outcome.kind === "nonce_taken") entry.rejectedFees = transaction;
  }
  if (replaced === undefined) nonces.release(transaction.nonce);
  await ledger.withdraw(transaction);
  const unsentEntries = entries.filter(({ attempts }) => attempts.length === 0);
  // An account that can't pay for several settlements at once may be able to pay for one.
  const isOrdinary = readGasLimit(transaction.rawTransaction) <= BigInt(settlement.gasLimit);
  const isUnfunded = outcome.kind === "rejected" && outcome.isUnfunded === true;
  const isMoved = isUnfunded && isOrdinary && recordProblem(outcome.message);
  if (unsentEntries.length < 2 || isMoved) {
    const failure = new ChainError(
      isMoved ? "signer" : "rejected",
      `the node rejected the settlement: ${outcome.message}`,
    );
    return { again: [], unsent: unsentEntries.map((entry) => ({ entry, failure })) };
  }
  const retried = unsentEntries.map((entry) => {
    entry.isSeparate = true;
    return { entries: [entry], replaced: undefined };
  });
  return { again: retried, unsent: [] };
}
