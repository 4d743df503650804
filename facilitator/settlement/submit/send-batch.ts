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

/** Result of sending a batch: the number of transactions signed, and the jobs that need another one at once. */
export type SentBatch = Readonly<{ signed: number; again: readonly Job[] }>;

/** A settlement may meet foreign transactions at its nonce this often before it is left to the tracker. */
const foreignNoncesMax = 5;

/**
 * Creates the function that signs, journals and sends a batch, in this order: whatever the process dies of afterwards, the journal
 * knows each transaction that may be on its way. It requests another transaction where the nonce turned out to be taken.
 *
 * @throws {ChainError} from the function when fees or nonce can't be had; nothing was signed then.
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
    // A payment that another replica judged, or of which the estimate was forgotten, has none here.
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

/** Handles a transaction that the node did not take. Returns whether its job needs another one, because its nonce is someone else's. */
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

/** A transaction to be made: with its own nonce, or in the place of an older one. */
export type Job = Readonly<{ entry: InFlight; replaced: Attempt | undefined }>;

/** A job with its signed transaction, and the time since which the one before it offers its fee. */
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

/**
 * Signs a transaction for each job that still wants one. A settlement that was sent before offers more than before, because its
 * older transaction may still be in a pool.
 */
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
    const { asset, callData } = entry.settlement;
    const gas = chooseGasLimit(entry, limits, signer);
    const transaction = { chainId: options.chainId, nonce, to: asset, data: callData, gas };
    const signed = signer.sign({ ...transaction, ...fees });
    const attempt = { ...signed, ...fees, signer: signer.address, nonce, signedAtMs: clock() };
    return [{ job, attempt, pricedBeforeMs: entry.pricedAtMs }];
  });
}

/**
 * Chooses the gas limit of a settlement's next transaction: that of the one before it, the most where that one ran out, and at first what the
 * estimate says. Without an estimate, because the payment would fail by now, it gets the most, and its diagnosis finds out why it fails.
 */
function chooseGasLimit(
  { settlement, attempts, lackedGas }: InFlight,
  limits: GasLimits,
  { readGasLimit }: Pick<TransactionSigner, "readGasLimit">,
): bigint {
  const before = attempts.at(-1);
  if (lackedGas) return limits.most;
  return before === undefined ? (limits.find(settlement.id) ?? limits.most) : readGasLimit(before.rawTransaction);
}
