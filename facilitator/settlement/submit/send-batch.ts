import type { Logger } from "#daemon/log/log.ts";
import type { Chain } from "../../chain/chain.ts";
import { ChainError, type SendOutcome } from "../../chain/chain-error.ts";
import { type FeeQuotes, computeFeeLimit, raiseFees, type Fees } from "../../chain/fees.ts";
import type { GasLimits } from "../../chain/gas-limits.ts";
import type { InFlightBook, InFlight } from "../in-flight.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { TransactionSigner } from "../../chain/transaction-signer.ts";
import type { Nonces } from "./nonces.ts";
import type { Attempt } from "../settlement.ts";

export type SendDependencies = SigningDependencies &
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
  let noncesAreStale = true;
  return async (jobs) => {
    const nextNonce =
      noncesAreStale || !nonces.anyHeld() ? chain.transactionCount(signer.address, "pending") : undefined;
    // No estimate exists for a payment that another replica checked, or whose estimate was evicted.
    const unknown = jobs.filter(
      ({ entry }) => entry.attempts.length === 0 && gas.find(entry.settlement.id) === undefined,
    );
    const simulated = Promise.all(unknown.map(({ entry }) => gas.simulate(entry.settlement, chain)));
    const [now, next] = await Promise.all([fees.quote(), nextNonce, simulated]);
    if (next !== undefined) nonces.startFrom(next);
    noncesAreStale = false;
    const signed = signBatch(jobs, now, options, dependencies);
    await recordBatch(signed, ledger, nonces);
    for (const { job, attempt } of signed) {
      job.entry.attempts = [...job.entry.attempts, attempt];
      job.entry.sentAtMs = monotonicMs();
      job.entry.pricedAtMs = job.entry.sentAtMs;
      job.entry.lostSinceMs = undefined;
      job.entry.diagnosed = undefined;
    }
    const outcomes = await Promise.all(signed.map(({ attempt }) => send(chain, attempt.rawTransaction)));
    const again: SignedJob[] = [];
    for (const [index, sent] of signed.entries()) {
      const outcome = outcomes[index];
      if (outcome === undefined || outcome.kind === "accepted") continue;
      if (await handleUntaken(sent, outcome, dependencies)) again.push(sent);
    }
    noncesAreStale = again.length > 0;
    return { signed: signed.length, again: again.map(({ job }) => job) };
  };
}

async function recordBatch(
  signed: readonly SignedJob[],
  ledger: Ledger,
  nonces: SendDependencies["nonces"],
): Promise<void> {
  try {
    await ledger.begin(signed.map(({ job, attempt }) => ({ settlement: job.entry.settlement, attempt })));
  } catch (error) {
    for (const { job, attempt } of signed) if (job.replaced === undefined) nonces.release(attempt.nonce);
    throw error;
  }
}

async function send(chain: Chain, rawTransaction: SignedJob["attempt"]["rawTransaction"]): Promise<SendOutcome> {
  try {
    return await chain.send(rawTransaction);
  } catch (error) {
    if (error instanceof ChainError) return { kind: "unknown", message: error.message };
    throw error;
  }
}

/** Handles a transaction that the node did not accept. Returns whether its job needs another one, because its nonce was used by a foreign transaction. */
async function handleUntaken(
  { job: { entry, replaced }, attempt, pricedBeforeMs }: SignedJob,
  outcome: Exclude<SendOutcome, { kind: "accepted" }>,
  { ledger, nonces, book, log }: SendDependencies,
): Promise<boolean> {
  const facts = {
    settlement: entry.settlement.id,
    transaction: attempt.hash,
    nonce: attempt.nonce,
    answer: outcome.message,
  };
  if (outcome.kind === "unknown") {
    log.warn(
      { event: "transaction-unanswered", ...facts },
      "the node did not say whether it took a transaction; it will be sent again",
    );
    return false;
  }
  if (outcome.kind === "nonce_taken" && replaced === undefined) {
    log.warn(
      { event: "transaction-nonce-taken", ...facts },
      "another transaction has this nonce; signing again with the next one",
    );
    return entry.attempts.length <= foreignNoncesMax;
  }
  log.warn({ event: "transaction-refused", ...facts }, "the node refused a transaction");
  await ledger.withdraw(attempt);
  entry.attempts = entry.attempts.filter(({ hash }) => hash !== attempt.hash);
  entry.pricedAtMs = pricedBeforeMs;
  if (replaced === undefined) nonces.release(attempt.nonce);
  if (entry.attempts.length === 0) {
    book.end(entry, new ChainError("refused", `the node refused the settlement: ${outcome.message}`));
  }
  return false;
}

/** Transaction to create: with its own nonce, or as a replacement of an older one. */
export type Job = Readonly<{ entry: InFlight; replaced: Attempt | undefined }>;

/** Job with its signed transaction, and the time since which the previous transaction has offered its fee. */
type SignedJob = Readonly<{ job: Job; attempt: Attempt; pricedBeforeMs: number }>;

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
    const { entry, replaced } = job;
    if (entry.abandoned) return [];
    const before = entry.attempts.at(-1);
    const fees = before === undefined ? now : raiseFees(before, now, { percent: options.bumpPercent, limit });
    if (fees === undefined) return [];
    const nonce = replaced === undefined ? nonces.acquire() : replaced.nonce;
    const { contract, callData } = entry.settlement;
    const gas = chooseGasLimit(entry, limits, signer);
    const transaction = { chainId: options.chainId, nonce, to: contract, data: callData, gas };
    const signed = signer.sign({ ...transaction, ...fees });
    const attempt = { ...signed, ...fees, signer: signer.address, nonce, signedAtMs: clock() };
    return [{ job, attempt, pricedBeforeMs: entry.pricedAtMs }];
  });
}

/**
 * Chooses the gas limit of a settlement's next transaction: the previous one's, the max if that ran out, and initially the estimate.
 * Without an estimate, because the payment would now fail, it gets the max, and its diagnosis determines the reason.
 */
function chooseGasLimit(
  { settlement, attempts, lackedGas }: InFlight,
  limits: GasLimits,
  { readGasLimit }: Pick<TransactionSigner, "readGasLimit">,
): bigint {
  const before = attempts.at(-1);
  if (lackedGas) return limits.most(settlement);
  return before === undefined
    ? (limits.find(settlement.id) ?? limits.most(settlement))
    : readGasLimit(before.rawTransaction);
}
