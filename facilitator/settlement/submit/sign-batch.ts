import { feeLimit, raisedFees, type Fees } from "../../chain/fees.ts";
import type { TransactionSigner } from "../../chain/transaction-signer.ts";
import type { InFlight } from "../in-flight.ts";
import type { Nonces } from "./nonces.ts";
import type { Attempt } from "../settlement.ts";

/** A transaction to be made: with a nonce of its own, or in the place of an older one. */
export type Job = Readonly<{ entry: InFlight; replaced: Attempt | undefined }>;

/** A job with its signed transaction. */
export type SignedJob = Readonly<{ job: Job; attempt: Attempt }>;

/** How transactions are made. */
export type SigningOptions = Readonly<{
  chainId: number;
  gasLimit: number;
  maxFeePerGasGwei: number;
  bumpPercent: number;
}>;

/** What signing needs. */
export type SigningDependencies = Readonly<{ signer: TransactionSigner; nonces: Nonces; clock: () => number }>;

/**
 * Signs a transaction for each job that still wants one. A settlement that was sent before offers more than before, because its
 * older transaction may still be in a pool.
 */
export function signBatch(
  jobs: readonly Job[],
  now: Fees,
  options: SigningOptions,
  { signer, nonces, clock }: SigningDependencies,
): readonly SignedJob[] {
  const limit = feeLimit(options.maxFeePerGasGwei);
  return jobs.flatMap((job): SignedJob[] => {
    const { entry, replaced } = job;
    if (entry.abandoned) return [];
    const before = entry.attempts.at(-1);
    const fees = before === undefined ? now : raisedFees(before, now, { percent: options.bumpPercent, limit });
    if (fees === undefined) return [];
    const nonce = replaced === undefined ? nonces.take() : replaced.nonce;
    const { asset, callData } = entry.settlement;
    const transaction = { chainId: options.chainId, nonce, to: asset, data: callData, gas: BigInt(options.gasLimit) };
    const signed = signer.sign({ ...transaction, ...fees });
    return [{ job, attempt: { ...signed, ...fees, signer: signer.address, nonce, signedAtMs: clock() } }];
  });
}
