import { ChainError } from "../../chain/chain-error.ts";
import { computeFeeLimit, raiseFees, type Fees } from "../../chain/fees.ts";
import type { GasLimits } from "../../chain/gas-limits.ts";
import { readGasLimit, type TransactionSigner } from "../../chain/transaction-signer.ts";
import type { SettlementContext } from "../context.ts";
import type { Attempt, InFlightSettlement } from "../settlement.ts";
import { encodeBatch, type Job } from "./batch-planner.ts";

/**
 * Transaction nonces of one account, assigned without querying the node, so that any number of transactions can be in flight. Synchronous,
 * so that no two callers can get the same nonce.
 */
export type NonceAllocator = ReturnType<typeof createNonceAllocator>;

export function createNonceAllocator() {
  const heldNonces = new Set<number>();
  let floor: number | undefined;
  /** Returns the lowest nonce that neither the chain nor our own transactions have used. */
  const takeNext = (): number => {
    let nonce = floor ?? 0;
    while (heldNonces.has(nonce)) nonce += 1;
    return nonce;
  };
  return {
    next: takeNext,
    known: (): number | undefined => (floor === undefined ? undefined : takeNext()),
    acquire: (): number => {
      const nonce = takeNext();
      heldNonces.add(nonce);
      return nonce;
    },
    hold: (nonce: number): void => void heldNonces.add(nonce),
    release: (nonce: number): void => void heldNonces.delete(nonce),
    /**
     * Sets the chain's next nonce. Nonces below it are used; if the chain was reset, the lower ones become free again.
     */
    rebase: (chainNext: number): void => {
      floor = chainNext;
      for (const nonce of heldNonces) if (nonce < chainNext) heldNonces.delete(nonce);
    },
    /** Sets the next nonce of chain and pool. Nonces below it stay reserved, because the pool may drop their transactions. */
    startFrom: (poolNext: number): void => {
      floor = poolNext;
    },
    /** Sets the chain's next nonce and frees all later nonces except `kept`; the freed ones' transactions must be signed again. */
    reset: (chainNext: number, kept: readonly Readonly<{ nonce: number }>[]): void => {
      floor = chainNext;
      heldNonces.clear();
      for (const { nonce } of kept) heldNonces.add(nonce);
    },
    heldCount: (): number => heldNonces.size,
  };
}

/** A job's signed transaction, each settlement's share, and the time at which its predecessor's fee was first offered. */
export type SignedJob = Pick<Job, "replaced"> &
  Readonly<{
    transaction: Attempt;
    items: readonly Readonly<{ entry: InFlightSettlement; attempt: Attempt }>[];
    pricedBeforeMs: number;
  }>;

export type SigningAccount = Readonly<{
  signer: TransactionSigner;
  nonces: NonceAllocator;
  /** Suspends the account until it can settle again. Returns whether another account can settle in the meantime. */
  recordProblem: (problem: string) => boolean;
}>;

/**
 * Signs a transaction for each job that still needs one. A resent settlement offers a higher fee, because its older
 * transaction may still be in a pool. If one signature fails, none is used, so that no nonce is skipped.
 */
export async function signBatch(
  jobs: readonly Job[],
  now: Fees,
  { settlement, chainId, gas: limits, clock }: SettlementContext,
  { signer, nonces, recordProblem }: SigningAccount,
): Promise<readonly SignedJob[]> {
  const limit = computeFeeLimit(settlement.maxFeePerGasGwei);
  const plannedTransactions = jobs.flatMap((job) => {
    const { replaced } = job;
    const entries = job.entries.filter(({ abandoned }) => !abandoned);
    const [firstEntry] = entries;
    if (firstEntry === undefined) return [];
    const previousFees = firstEntry.rejectedFees ?? firstEntry.attempts.at(-1);
    const fees =
      previousFees === undefined ? now : raiseFees(previousFees, now, { percent: settlement.bumpPercent, limit });
    if (fees === undefined) {
      firstEntry.rejectedFees = undefined;
      return [];
    }
    const nonce = replaced === undefined ? nonces.acquire() : replaced.nonce;
    // Marks the entries before signing, which may take seconds with a remote key.
    for (const entry of entries) entry.signed = true;
    return [{ replaced, entries, firstEntry, fees, nonce, gas: job.gas }];
  });
  const sign = async ({ replaced, entries, firstEntry, fees, nonce, ...job }: (typeof plannedTransactions)[number]) => {
    const size = entries.length;
    const { contract, callData } = firstEntry.settlement;
    const call = size === 1 ? { to: contract, data: callData } : encodeBatch(entries, { mayFail: true });
    const gas = chooseGasLimit(firstEntry, { size, gas: job.gas }, limits);
    const signedTransaction = await signer.sign({ chainId, nonce, ...call, gas, ...fees });
    const transaction = { ...signedTransaction, ...fees, signer: signer.address, nonce, signedAtMs: clock() };
    const items = entries.map((entry, index) => ({
      entry,
      attempt: size === 1 ? transaction : { ...transaction, batch: { index, size } },
    }));
    return { replaced, transaction, items, pricedBeforeMs: firstEntry.pricedAtMs };
  };
  try {
    return await Promise.all(plannedTransactions.map(sign));
  } catch (error) {
    for (const { replaced, entries, nonce } of plannedTransactions) {
      if (replaced === undefined) nonces.release(nonce);
      for (const entry of entries) entry.signed = entry.attempts.length > 0;
    }
    if (error instanceof ChainError && error.fault === "signer") recordProblem(error.message);
    throw error;
  }
}

/**
 * Chooses the gas limit of the settlements' next transaction, based on the first: the estimate for a new batch, otherwise the previous
 * limit of the same kind. Otherwise, a single settlement gets its estimate, or the max if its last transaction ran out of gas. Without an
 * estimate, the payment would now fail, and its diagnosis determines the reason.
 */
function chooseGasLimit(
  { settlement, attempts, lackedGas }: InFlightSettlement,
  { size, gas }: Readonly<{ size: number; gas: bigint | undefined }>,
  limits: GasLimits,
): bigint {
  const previousFees = attempts.at(-1);
  if (size > 1 && gas !== undefined) return gas;
  if (lackedGas) return limits.most(settlement);
  const isSameKind = previousFees !== undefined && (previousFees.batch === undefined) === (size === 1);
  return isSameKind ? readGasLimit(previousFees.rawTransaction) : (limits.find(settlement) ?? limits.most(settlement));
}
