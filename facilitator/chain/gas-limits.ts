import { z } from "zod";
import type { Clock } from "#daemon/clock.ts";
import type { JsonRpcResponse } from "#daemon/json-rpc.ts";
import { readChannelCall } from "#x402/batch-settlement/channel.ts";
import type { Hex } from "#x402/hex.ts";
import type { ContractCall } from "#x402/wallet-signature.ts";
import { retainNewest } from "#daemon/memoize.ts";
import type { Chain, MessageCall, Receipt } from "./chain.ts";
import { ChainError } from "./chain-error.ts";
import type { FeeQuotes } from "./fees.ts";
import { readGasLimit } from "./transaction-signer.ts";
import { getNamedSigner, type Transfer } from "./transfer-method.ts";

export type GasLimitOptions = Readonly<{ gasLimit: number; gasMarginPercent: number; entriesMax: number }>;

type AuthorizedTransfer = Pick<Transfer, "asset" | "contract" | "payTo" | "callData"> &
  Readonly<{ id: Hex; walletSignature?: Hex | undefined }>;

type GasResult = Readonly<{ ok: true; gas: bigint; isEstimated: boolean }> | Extract<JsonRpcResponse, { ok: false }>;

export type GasLimits = ReturnType<typeof createGasLimits>;

/** Max gas of a transaction (EIP-7825). */
export const transactionGasMax = 16_777_216n;

const emptyTransactionGas = 21_000n;

/** Max age of an estimate that is reused for a payee's other payments. */
const estimateAgeMaxMs = 60_000;

const estimateSchema = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,16}$/)
  .transform(BigInt);

/** Creates the gas limits of transactions; `signer` is the sender in simulations, whichever account submits the transaction. */
export function createGasLimits(
  { gasLimit, gasMarginPercent, entriesMax }: GasLimitOptions,
  { signer, fees, monotonicMs }: Readonly<{ signer: Hex; fees?: FeeQuotes }> & Pick<Clock, "monotonicMs">,
) {
  /** Returns the max gas of a settlement; a claim of several vouchers may use that much per voucher. */
  const most = (transfer: Pick<AuthorizedTransfer, "contract" | "callData">): bigint => {
    const call = readChannelCall(transfer);
    const limit = BigInt(gasLimit) * BigInt(call === undefined || call.kind === "deposit" ? 1 : call.parts);
    return limit < transactionGasMax ? limit : transactionGasMax;
  };
  const byPayment = new Map<Hex, Readonly<{ gas: bigint; limit: bigint; callData: Hex }>>();
  const byPayee = createRecentEstimates({ entriesMax }, { monotonicMs });
  /** Gas that each payment adds to a batch. */
  const byPayeeInBatch = createRecentEstimates({ entriesMax }, { monotonicMs });

  /** Simulates a call with its expected gas and half the margin; runs the slow estimate only if that fails. */
  const measure = async (
    call: Omit<MessageCall, "gas">,
    { expected, gasMax }: Readonly<{ expected: bigint | undefined; gasMax: bigint }>,
    chain: Chain,
  ): Promise<GasResult> => {
    if (expected !== undefined) {
      const gas = Number(addPercent(expected, Math.floor(gasMarginPercent / 2), gasMax));
      if ((await chain.simulate({ ...call, gas })).ok) return { ok: true, gas: expected, isEstimated: false };
    }
    const response = await chain.estimateGas({ ...call, gas: Number(gasMax) });
    return response.ok ? { ok: true, gas: parseEstimate(response.result), isEstimated: true } : response;
  };
  const measurePayment = async (
    transfer: AuthorizedTransfer,
    expected: bigint | undefined,
    chain: Chain,
  ): Promise<GasResult> => {
    const { id, contract, callData, walletSignature } = transfer;
    // Without a gas price, a wallet's contract could tell a simulation from a transaction, and reject only the latter.
    const price = walletSignature && fees && { gasPrice: (await fees.quote()).maxFeePerGas };
    const call = { from: getNamedSigner(transfer) ?? signer, to: contract, data: callData, ...price };
    const limit = most(transfer);
    const estimate = await measure(call, { expected, gasMax: limit }, chain);
    if (!estimate.ok) return estimate;
    retainNewest(byPayment, id, { gas: estimate.gas, limit, callData }, entriesMax);
    if (estimate.isEstimated) byPayee.keepLeast(namePayee(transfer), estimate.gas);
    return estimate;
  };
  return {
    most,
    /** Simulates a payment and caches its gas for other payments to the payee. An error means that the payment would fail. */
    simulate: (transfer: AuthorizedTransfer, chain: Chain): Promise<GasResult> =>
      measurePayment(transfer, byPayee.find(namePayee(transfer)), chain),
    estimate: (transfer: AuthorizedTransfer, chain: Chain): Promise<GasResult> =>
      measurePayment(transfer, undefined, chain),
    /**
     * Returns the gas limit of a call with several payments, all of which must succeed: its gas plus the margin, capped at `gasMax`;
     * undefined if the call would fail. As in `simulate`, the gas of a batch to one payee is reused for its later batches.
     */
    estimateBatch: async (
      transfers: readonly AuthorizedTransfer[],
      { call, gasMax }: Readonly<{ call: ContractCall; gasMax: bigint }>,
      chain: Chain,
    ): Promise<bigint | undefined> => {
      const count = BigInt(transfers.length);
      const [name = "", ...otherPayees] = new Set(transfers.map(namePayee));
      const each = otherPayees.length === 0 ? byPayeeInBatch.find(name) : undefined;
      const expected = each && emptyTransactionGas + each * count;
      const estimate = await measure({ from: signer, ...call }, { expected, gasMax }, chain);
      if (!estimate.ok) return undefined;
      const { gas, isEstimated } = estimate;
      if (isEstimated && otherPayees.length === 0)
        byPayeeInBatch.keepLeast(name, (gas - emptyTransactionGas) / count + 1n);
      return addPercent(gas, gasMarginPercent, gasMax);
    },
    /** Returns the limit for a payment's transaction: the estimate plus the margin, capped at `most`; undefined without an estimate. */
    find: ({ id, callData }: Pick<AuthorizedTransfer, "id" | "callData">): bigint | undefined => {
      const known = byPayment.get(id);
      return known?.callData !== callData ? undefined : addPercent(known.gas, gasMarginPercent, known.limit);
    },
  };
}

function createRecentEstimates(
  { entriesMax }: Pick<GasLimitOptions, "entriesMax">,
  { monotonicMs }: Pick<Clock, "monotonicMs">,
) {
  const estimates = new Map<string, Readonly<{ gas: bigint; atMs: number }>>();
  const find = (name: string): bigint | undefined => {
    const estimate = estimates.get(name);
    return estimate !== undefined && monotonicMs() - estimate.atMs < estimateAgeMaxMs ? estimate.gas : undefined;
  };
  return {
    find,
    /** One payer's expensive wallet must not raise the limit of other payers' payments; a payment that needs more is estimated anyway. */
    keepLeast: (name: string, gas: bigint): void => {
      const known = find(name);
      if (known === undefined || gas < known) retainNewest(estimates, name, { gas, atMs: monotonicMs() }, entriesMax);
    },
  };
}

function addPercent(gas: bigint, percent: number, limit: bigint): bigint {
  const more = (gas * BigInt(100 + percent) + 99n) / 100n;
  return more < limit ? more : limit;
}

function parseEstimate(result: unknown): bigint {
  const gas = estimateSchema.safeParse(result);
  if (gas.success) return gas.data;
  throw new ChainError("bad_answer", "the node's response to eth_estimateGas is not an amount of gas");
}

/** Key of payments that need about the same gas; the call data's length distinguishes their methods. */
function namePayee({ asset, contract, payTo, callData }: AuthorizedTransfer): string {
  return `${asset} ${contract} ${payTo} ${callData.length}`.toLowerCase();
}

type MinedPart = Readonly<{
  hash: Hex;
  rawTransaction: Hex;
  maxFeePerGas: bigint;
  batch?: Readonly<{ index: number; size: number }> | undefined;
}>;

/**
 * Computes the signer's gas cost of a settlement, in wei, based on each transaction's gas limit if the chain charges the whole limit.
 * Settlements that share a transaction have equal shares, which add up to its cost.
 */
export function computeGasCost(
  attempts: readonly MinedPart[],
  receipts: ReadonlyMap<Hex, Receipt>,
  { chargesGasLimit }: Readonly<{ chargesGasLimit: boolean }>,
): bigint {
  return attempts.reduce((sum, attempt) => {
    const receipt = receipts.get(attempt.hash);
    if (receipt === undefined) return sum;
    const gas = chargesGasLimit ? readGasLimit(attempt.rawTransaction) : receipt.gasUsed;
    const cost = gas * (receipt.effectiveGasPrice ?? attempt.maxFeePerGas);
    const { index, size } = attempt.batch ?? { index: 0, size: 1 };
    const costBefore = (count: number) => (cost * BigInt(count)) / BigInt(size);
    return sum + costBefore(index + 1) - costBefore(index);
  }, 0n);
}
