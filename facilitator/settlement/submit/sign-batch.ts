import { ChainError } from "../../chain/chain-error.ts";
import { computeFeeLimit, raiseFees, type Fees } from "../../chain/fees.ts";
import type { GasLimits } from "../../chain/gas-limits.ts";
import { readGasLimit, type TransactionSigner } from "../../chain/transaction-signer.ts";
import type { InFlightSettlement } from "../in-flight.ts";
import type { Attempt } from "../settlement.ts";
import { encodeBatch, type Job } from "./batch-planner.ts";
import type { Nonces } from "./nonces.ts";

/** Signed transaction of a job, each settlement's part of it, and the time since which the previous transaction has offered its fee. */
export type SignedJob = Pick<Job, "replaced"> &
  Readonly<{
    transaction: Attempt;
    items: readonly Readonly<{ entry: InFlightSettlement; attempt: Attempt }>[];
    pricedBeforeMs: number;
  }>;

/** Chain and fee limits of the transactions to sign. */
export type SigningOptions = Readonly<{
  chainId: number;
  maxFeePerGasGwei: number;
  bumpPercent: number;
  /** Max gas of one settlement. */
  gasLimit: number;
}>;

export type SigningDependencies = Readonly<{
  signer: TransactionSigner;
  nonces: Nonces;
  gas: GasLimits;
  clock: () => number;
  /** Takes the account out of use until it can settle again. Returns whether another one may settle meanwhile. */
  recordProblem: (problem: string) => boolean;
}>;

/**
 * Signs a transaction for each job that still needs one. A resent settlement offers more than before, because its older transaction may
 * still be in a pool. If one signature fails, none is used, so that no nonce is left out.
 */
export async function signBatch(
  jobs: readonly Job[],
  now: Fees,
  options: SigningOptions,
  { signer, nonces, gas: limits, clock, recordProblem }: SigningDependencies,
): Promise<readonly SignedJob[]> {
  const limit = computeFeeLimit(options.maxFeePerGasGwei);
  const planned = jobs.flatMap((job) => {
    const { replaced } = job;
    const entries = job.entries.filter(({ abandoned }) => !abandoned);
    const [first] = entries;
    if (first === undefined) return [];
    const before = first.attempts.at(-1);
    const fees = before === undefined ? now : raiseFees(before, now, { percent: options.bumpPercent, limit });
    if (fees === undefined) return [];
    const nonce = replaced === undefined ? nonces.acquire() : replaced.nonce;
    // Before the signature, which a remote key may take seconds for.
    for (const entry of entries) entry.signed = true;
    return [{ replaced, entries, first, fees, nonce, gas: job.gas }];
  });
  const sign = async ({ replaced, entries, first, fees, nonce, ...job }: (typeof planned)[number]) => {
    const size = entries.length;
    const { contract, callData } = first.settlement;
    const call = size === 1 ? { to: contract, data: callData } : encodeBatch(entries, { mayFail: true });
    const gas = chooseGasLimit(first, { size, gas: job.gas }, limits);
    const signed = await signer.sign({ chainId: options.chainId, nonce, ...call, gas, ...fees });
    const transaction = { ...signed, ...fees, signer: signer.address, nonce, signedAtMs: clock() };
    const items = entries.map((entry, index) => ({
      entry,
      attempt: size === 1 ? transaction : { ...transaction, batch: { index, size } },
    }));
    return { replaced, transaction, items, pricedBeforeMs: first.pricedAtMs };
  };
  try {
    return await Promise.all(planned.map(sign));
  } catch (error) {
    for (const { replaced, entries, nonce } of planned) {
      if (replaced === undefined) nonces.release(nonce);
      for (const entry of entries) entry.signed = entry.attempts.length > 0;
    }
    if (error instanceof ChainError && error.fault === "signer") recordProblem(error.message);
    throw error;
  }
}

/**
 * Chooses the gas limit of the next transaction of settlements, by the first: of a new batch as estimated, else the previous one's of the
 * same kind. A single one gets its estimate otherwise, and the max if that ran out or does not exist: the payment would now fail, and its
 * diagnosis determines the reason.
 */
function chooseGasLimit(
  { settlement, attempts, lackedGas }: InFlightSettlement,
  { size, gas }: Readonly<{ size: number; gas: bigint | undefined }>,
  limits: GasLimits,
): bigint {
  const before = attempts.at(-1);
  if (size > 1 && gas !== undefined) return gas;
  if (lackedGas) return limits.most(settlement);
  const isSameKind = before !== undefined && (before.batch === undefined) === (size === 1);
  return isSameKind ? readGasLimit(before.rawTransaction) : (limits.find(settlement) ?? limits.most(settlement));
}
