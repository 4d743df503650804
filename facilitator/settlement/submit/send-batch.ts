import type { Logger } from "#daemon/log/log.ts";
import type { Chain } from "../../chain/chain.ts";
import { ChainError, type SendOutcome } from "../../chain/chain-error.ts";
import { type FeeQuotes, computeFeeLimit, raiseFees, type Fees } from "../../chain/fees.ts";
import type { GasLimits } from "../../chain/gas-limits.ts";
import type { InFlightBook, InFlight } from "../in-flight.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { TransactionSigner } from "../../chain/transaction-signer.ts";
import { createBatchPlanner, encodeBatch, type BatchPlannerDependencies, type Job } from "./batch-planner.ts";
import type { Nonces } from "./nonces.ts";
import type { Attempt } from "../settlement.ts";

export type SendDependencies = SigningDependencies &
  Pick<BatchPlannerDependencies, "contracts" | "logsUses"> &
  Readonly<{
    chain: Chain;
    ledger: Ledger;
    fees: FeeQuotes;
    gas: GasLimits;
    book: InFlightBook;
    monotonicMs: () => number;
    log: Logger;
  }>;

/** Result of sending a batch: the number of signed transactions, and the jobs that immediately need another one. */
export type SentBatch = Readonly<{ signed: number; again: readonly Job[] }>;

/** Max foreign transactions that a settlement may encounter at its nonce before it is left to the tracker. */
const foreignNoncesMax = 5;

/**
 * Creates the function that signs, journals and sends a batch, in this order, so that after any crash the journal has each transaction that
 * may have been sent. It requests another transaction if the nonce was taken.
 *
 * @throws {ChainError} from the function when fees or nonce are unavailable; nothing was signed.
 */
export function createSendBatch(
  options: SigningOptions,
  dependencies: SendDependencies,
): (jobs: readonly Job[]) => Promise<SentBatch> {
  const { chain, ledger, nonces, fees, gas, signer, monotonicMs } = dependencies;
  const plan = createBatchPlanner({ ...dependencies, signer: signer.address });
  let noncesAreStale = true;
  return async (jobs) => {
    const nextNonce =
      noncesAreStale || !nonces.anyHeld() ? chain.transactionCount(signer.address, "pending") : undefined;
    // No estimate exists for a payment that another replica checked, or whose estimate was evicted.
    const unknown = listEntries(jobs).filter(
      ({ settlement, attempts }) => attempts.length === 0 && gas.find(settlement) === undefined,
    );
    const simulated = Promise.all(unknown.map(({ settlement }) => gas.simulate(settlement, chain)));
    const planned = simulated.then(() => plan(jobs));
    const [now, next, transactions] = await Promise.all([fees.quote(), nextNonce, planned]);
    if (next !== undefined) nonces.startFrom(next);
    noncesAreStale = false;
    const signed = signBatch(transactions, now, options, dependencies);
    await recordBatch(signed, ledger, nonces);
    for (const { entry, attempt } of signed.flatMap(({ items }) => items)) {
      entry.attempts = [...entry.attempts, attempt];
      entry.sentAtMs = monotonicMs();
      entry.pricedAtMs = entry.sentAtMs;
      entry.lostSinceMs = undefined;
      entry.diagnosed = undefined;
    }
    const outcomes = await Promise.all(signed.map(({ transaction }) => send(chain, transaction.rawTransaction)));
    const again: Job[] = [];
    for (const [index, sent] of signed.entries()) {
      const outcome = outcomes[index];
      if (outcome === undefined || outcome.kind === "accepted") continue;
      const jobsAgain = await handleUntaken(sent, outcome, dependencies);
      if (outcome.kind === "nonce_taken" && jobsAgain.length > 0) noncesAreStale = true;
      again.push(...jobsAgain);
    }
    return { signed: signed.length, again };
  };
}

function listEntries(jobs: readonly Job[]): readonly InFlight[] {
  return jobs.flatMap(({ entries }) => entries);
}

async function recordBatch(
  signed: readonly SignedJob[],
  ledger: Ledger,
  nonces: SendDependencies["nonces"],
): Promise<void> {
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

/** Handles a transaction that the node did not accept. Returns the jobs that need another one: its nonce was foreign, or its settlements go alone. */
async function handleUntaken(
  { items, replaced, transaction, pricedBeforeMs }: SignedJob,
  outcome: Exclude<SendOutcome, { kind: "accepted" }>,
  { ledger, nonces, book, log }: SendDependencies,
): Promise<readonly Job[]> {
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
      "the node did not say whether it took a transaction; it will be sent again",
    );
    return [];
  }
  if (outcome.kind === "nonce_taken" && replaced === undefined) {
    log.warn(
      { event: "transaction-nonce-taken", ...facts },
      "another transaction has this nonce; signing again with the next one",
    );
    return entries.every(({ attempts }) => attempts.length <= foreignNoncesMax) ? [{ entries, replaced }] : [];
  }
  log.warn({ event: "transaction-refused", ...facts }, "the node refused a transaction");
  await ledger.withdraw(transaction);
  for (const entry of entries) {
    entry.attempts = entry.attempts.filter(({ hash }) => hash !== transaction.hash);
    entry.pricedAtMs = pricedBeforeMs;
  }
  if (replaced === undefined) nonces.release(transaction.nonce);
  const unsent = entries.filter(({ attempts }) => attempts.length === 0);
  if (unsent.length < 2) {
    for (const entry of unsent)
      book.end(entry, new ChainError("refused", `the node refused the settlement: ${outcome.message}`));
    return [];
  }
  return unsent.map((entry) => {
    entry.alone = true;
    return { entries: [entry], replaced: undefined };
  });
}

/** Signed transaction of a job, each settlement's part of it, and the time since which the previous transaction has offered its fee. */
type SignedJob = Pick<Job, "replaced"> &
  Readonly<{
    transaction: Attempt;
    items: readonly Readonly<{ entry: InFlight; attempt: Attempt }>[];
    pricedBeforeMs: number;
  }>;

/** Chain and fee limits of the transactions to sign. */
type SigningOptions = Readonly<{
  chainId: number;
  maxFeePerGasGwei: number;
  bumpPercent: number;
}>;

type SigningDependencies = Readonly<{
  signer: TransactionSigner;
  nonces: Nonces;
  gas: GasLimits;
  clock: () => number;
}>;

/** Signs a transaction for each job that still needs one. A resent settlement offers more than before, because its older transaction may still be in a pool. */
function signBatch(
  jobs: readonly Job[],
  now: Fees,
  options: SigningOptions,
  { signer, nonces, gas: limits, clock }: SigningDependencies,
): readonly SignedJob[] {
  const limit = computeFeeLimit(options.maxFeePerGasGwei);
  return jobs.flatMap((job): SignedJob[] => {
    const { replaced } = job;
    const entries = job.entries.filter(({ abandoned }) => !abandoned);
    const [first] = entries;
    if (first === undefined) return [];
    const before = first.attempts.at(-1);
    const fees = before === undefined ? now : raiseFees(before, now, { percent: options.bumpPercent, limit });
    if (fees === undefined) return [];
    const nonce = replaced === undefined ? nonces.acquire() : replaced.nonce;
    const size = entries.length;
    const { contract, callData } = first.settlement;
    const call = size === 1 ? { to: contract, data: callData } : encodeBatch(entries, { mayFail: true });
    const gas = chooseGasLimit(first, { size, gas: job.gas }, limits, signer);
    const signed = signer.sign({ chainId: options.chainId, nonce, ...call, gas, ...fees });
    for (const entry of entries) entry.signed = true;
    const transaction = { ...signed, ...fees, signer: signer.address, nonce, signedAtMs: clock() };
    const items = entries.map((entry, index) => ({
      entry,
      attempt: size === 1 ? transaction : { ...transaction, batch: { index, size } },
    }));
    return [{ replaced, transaction, items, pricedBeforeMs: first.pricedAtMs }];
  });
}

/**
 * Chooses the gas limit of the next transaction of settlements, by the first: of a new batch as estimated, else the previous one's of the
 * same kind. A single one gets its estimate otherwise, and the max if that ran out or does not exist: the payment would now fail, and its
 * diagnosis determines the reason.
 */
function chooseGasLimit(
  { settlement, attempts, lackedGas }: InFlight,
  { size, gas }: Readonly<{ size: number; gas: bigint | undefined }>,
  limits: GasLimits,
  { readGasLimit }: Pick<TransactionSigner, "readGasLimit">,
): bigint {
  const before = attempts.at(-1);
  if (size > 1 && gas !== undefined) return gas;
  if (lackedGas) return limits.most(settlement);
  const isSameKind = before !== undefined && (before.batch === undefined) === (size === 1);
  return isSameKind ? readGasLimit(before.rawTransaction) : (limits.find(settlement) ?? limits.most(settlement));
}
