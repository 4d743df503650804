import { canShareTransaction, areIndistinguishable } from "../../chain/transfer-method.ts";
import { transactionGasMax, type GasLimits } from "../../chain/gas-limits.ts";
import type { Hex } from "#x402/hex.ts";
import {
  decodeMulticallResult,
  encodeMulticall,
  multicall3Address,
  type ContractCall,
} from "#x402/wallet-signature.ts";
import type { SettlementContext } from "../context.ts";
import type { Attempt, InFlightSettlement } from "../settlement.ts";

/** A transaction to create for one or more settlements, with its own nonce or as a replacement. */
export type Job = Readonly<{
  entries: readonly InFlightSettlement[];
  replaced: Attempt | undefined;
  gas?: bigint | undefined;
}>;

/** A transaction's max share of a block, so that it is not excluded from fuller blocks: a quarter. */
const blockShare = 4n;
/** Max call data of a transaction in bytes; geth's pool accepts transactions of up to 128 KiB. */
const callBytesMax = 96 * 1_024;

/**
 * Creates the function that assigns waiting payments to shared transactions, as many as fit into a transaction's gas limit. A payment that
 * was sent before, or whose shared transaction failed, gets its own. Payments that would fail now are removed from their batch. `logsUses`
 * returns whether a token logs each use of an authorization, so that a shared transaction's receipt shows which payments were executed.
 *
 * @throws {ChainError} from the function when the node doesn't respond.
 */
export function createBatchPlanner(
  { chain, gas, contracts }: Pick<SettlementContext, "chain" | "gas" | "contracts">,
  { signer, logsUses }: Readonly<{ signer: Hex; logsUses: (asset: Hex) => boolean }>,
) {
  /** Returns the gas limit of a batch if all its payments would succeed now; estimates can't detect a tolerated failure. */
  const estimate = (entries: readonly InFlightSettlement[], gasMax: bigint) =>
    gas.estimateBatch(
      entries.map(({ settlement }) => settlement),
      { call: encodeBatch(entries, { mayFail: false }), gasMax },
      chain,
    );

  const size = async ({ entries, gas: requiredGas }: Batch, gasMax: bigint): Promise<readonly Job[]> => {
    if (entries.length === 1) return entries.map(toSeparateJob);
    const limit = await estimate(entries, gasMax);
    if (limit !== undefined) return [{ entries, replaced: undefined, gas: limit }];
    const call = { from: signer, ...encodeBatch(entries, { mayFail: true }), gas: Number(requiredGas) };
    const response = await chain.simulate(call);
    const successes = response.ok ? decodeMulticallResult(response.result as Hex) : [];
    const successful = entries.filter((_, index) => successes[index]);
    const estimatedGas = successful.length < 2 ? undefined : await estimate(successful, gasMax);
    if (estimatedGas === undefined) return entries.map(toSeparateJob);
    const unsuccessful = entries.filter((_, index) => successes[index] !== true);
    return [{ entries: successful, replaced: undefined, gas: estimatedGas }, ...unsuccessful.map(toSeparateJob)];
  };

  const isFree = ({ entries: [entry, ...otherEntries], replaced }: Job) =>
    entry !== undefined &&
    otherEntries.length === 0 &&
    replaced === undefined &&
    canJoin(entry) &&
    logsUses(entry.settlement.asset);

  return async (jobs: readonly Job[]): Promise<readonly Job[]> => {
    const free = jobs.filter(isFree).flatMap(({ entries }) => entries);
    const otherJobs = jobs.filter((job) => !isFree(job));
    if (free.length < 2 || contracts()?.has(multicall3Address.toLowerCase()) !== true) return jobs;
    const { gasLimit = transactionGasMax } = await chain.head();
    const share = gasLimit / blockShare;
    const gasMax = share < transactionGasMax ? share : transactionGasMax;
    const batches = await Promise.all(packBatches(free, gasMax, gas).map((batch) => size(batch, gasMax)));
    return [...otherJobs, ...batches.flat()];
  };
}

function toSeparateJob(entry: InFlightSettlement): Job {
  return { entries: [entry], replaced: undefined };
}

function canJoin({ settlement, attempts, isSeparate, abandoned }: InFlightSettlement): boolean {
  return attempts.length === 0 && !isSeparate && !abandoned && canShareTransaction(settlement);
}

type Batch = { entries: InFlightSettlement[]; gas: bigint; bytes: number };

/** Distributes payments among batches by their gas limits; one that does not fit goes into the next. */
function packBatches(entries: readonly InFlightSettlement[], gasMax: bigint, limits: GasLimits): readonly Batch[] {
  const batches: Batch[] = [];
  for (const entry of entries) {
    const { callData } = entry.settlement;
    const [gas, bytes] = [limits.find(entry.settlement) ?? limits.most(entry.settlement), callData.length / 2 + 192];
    const fits = (batch: Batch) =>
      batch.gas + gas <= gasMax &&
      batch.bytes + bytes <= callBytesMax &&
      !batch.entries.some((other) => areIndistinguishable(other.settlement, entry.settlement));
    const batch = batches.find(fits);
    if (batch === undefined) batches.push({ entries: [entry], gas, bytes });
    else {
      batch.entries.push(entry);
      batch.gas += gas;
      batch.bytes += bytes;
    }
  }
  return batches;
}

/** Encodes the call of a transaction with several payments. A call that `mayFail` does not revert the others. */
export function encodeBatch(
  entries: readonly InFlightSettlement[],
  { mayFail }: Readonly<{ mayFail: boolean }>,
): ContractCall {
  const calls = entries.map(({ settlement: { contract: to, callData: data } }) => ({ to, data, mayFail }));
  return { to: multicall3Address, data: encodeMulticall(calls) };
}
