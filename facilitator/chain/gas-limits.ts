import { z } from "zod";
import type { Clock } from "#daemon/clock.ts";
import type { JsonRpcResponse } from "#daemon/json-rpc.ts";
import { readChannelCall } from "#x402/batch-settlement/channel.ts";
import type { Hex } from "#x402/hex.ts";
import type { ContractCall } from "#x402/wallet-signature.ts";
import { keepNewest } from "../payment/recent-verdicts.ts";
import type { Chain } from "./chain.ts";
import { ChainError } from "./chain-error.ts";

/** Max gas of one settlement, margin over the estimate in percent, and max number of cached estimates. */
export type GasLimitOptions = Readonly<{ gasLimit: number; gasMarginPercent: number; entriesMax: number }>;

/** Token transfer authorized by a payment. */
type AuthorizedTransfer = Readonly<{ id: Hex; asset: Hex; contract: Hex; payTo: Hex; callData: Hex }>;

/** Gas limits of payment transactions, based on the node's estimates. */
export type GasLimits = Readonly<{
  /**
   * Simulates a payment and caches its gas. An estimate takes the node several runs, so for a minute the payee's other payments are called
   * with its gas and half the margin; only those that need more are estimated. An error means that the payment would fail.
   */
  simulate: (transfer: AuthorizedTransfer, chain: Chain) => Promise<JsonRpcResponse>;
  /** Estimates and caches the gas of a payment. */
  estimate: (transfer: AuthorizedTransfer, chain: Chain) => Promise<JsonRpcResponse>;
  /** Returns the limit for a payment's transaction: the estimate plus the margin, capped at `most`; undefined without an estimate. */
  find: (transfer: Pick<AuthorizedTransfer, "id" | "callData">) => bigint | undefined;
  /** Estimates a call with several payments. Returns its limit, with the margin and at most `gasMax`; undefined if the call would fail. */
  estimateBatch: (call: ContractCall, gasMax: bigint, chain: Chain) => Promise<bigint | undefined>;
  /** Returns the max gas of a settlement; a claim of several vouchers may use it for each. */
  most: (transfer: Pick<AuthorizedTransfer, "contract" | "callData">) => bigint;
}>;

/** Max gas of a transaction (EIP-7825). */
export const transactionGasMax = 16_777_216n;

/** Max age of an estimate that is reused for a payee's other payments. */
const estimateAgeMaxMs = 60_000;

const estimateSchema = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,16}$/)
  .transform(BigInt);

/** Creates the gas limits for one signer's transactions. Evicts the oldest estimates first. */
export function createGasLimits(
  { gasLimit, gasMarginPercent, entriesMax }: GasLimitOptions,
  { signer, monotonicMs }: Readonly<{ signer: Hex }> & Pick<Clock, "monotonicMs">,
): GasLimits {
  const most: GasLimits["most"] = (transfer) => {
    const call = readChannelCall(transfer);
    const limit = BigInt(gasLimit) * BigInt(call === undefined || call.kind === "deposit" ? 1 : call.parts);
    return limit < transactionGasMax ? limit : transactionGasMax;
  };
  const byPayment = new Map<Hex, Readonly<{ gas: bigint; limit: bigint; callData: Hex }>>();
  const byPayee = new Map<string, Readonly<{ gas: bigint; atMs: number }>>();
  const isFresh = (known: Readonly<{ atMs: number }> | undefined) =>
    known !== undefined && monotonicMs() - known.atMs < estimateAgeMaxMs;
  const estimate: GasLimits["estimate"] = async (transfer, chain) => {
    const { id, contract, callData } = transfer;
    const name = namePayee(transfer);
    const answer = await chain.estimateGas({ from: signer, to: contract, data: callData, gas: Number(most(transfer)) });
    if (!answer.ok) return answer;
    const gas = parseEstimate(answer.result);
    keepNewest(byPayment, id, { gas, limit: most(transfer), callData }, entriesMax);
    const known = byPayee.get(name);
    // One payer's dear wallet must not raise the limit of others' payments: those that need more are estimated anyway.
    if (known === undefined || !isFresh(known) || gas < known.gas)
      keepNewest(byPayee, name, { gas, atMs: monotonicMs() }, entriesMax);
    return answer;
  };
  return {
    most,
    estimate,
    estimateBatch: async (call, gasMax, chain) => {
      const answer = await chain.estimateGas({ from: signer, ...call, gas: Number(gasMax) });
      return answer.ok ? addPercent(parseEstimate(answer.result), gasMarginPercent, gasMax) : undefined;
    },
    simulate: async (transfer, chain) => {
      const known = byPayee.get(namePayee(transfer));
      if (known === undefined || !isFresh(known)) return estimate(transfer, chain);
      const { id, contract, callData } = transfer;
      const gas = Number(addPercent(known.gas, Math.floor(gasMarginPercent / 2), most(transfer)));
      const answer = await chain.simulate({ from: signer, to: contract, data: callData, gas });
      if (!answer.ok) return estimate(transfer, chain);
      keepNewest(byPayment, id, { gas: known.gas, limit: most(transfer), callData }, entriesMax);
      return answer;
    },
    find: ({ id, callData }) => {
      const known = byPayment.get(id);
      return known?.callData !== callData ? undefined : addPercent(known.gas, gasMarginPercent, known.limit);
    },
  };
}

/** Adds a margin to an amount of gas, up to a limit. */
function addPercent(gas: bigint, percent: number, limit: bigint): bigint {
  const more = (gas * BigInt(100 + percent) + 99n) / 100n;
  return more < limit ? more : limit;
}

function parseEstimate(result: unknown): bigint {
  const gas = estimateSchema.safeParse(result);
  if (gas.success) return gas.data;
  throw new ChainError("bad_answer", "the node's answer to eth_estimateGas is not an amount of gas");
}

/** Names payments of about the same gas: of one token to one payee by the same method, whose call data tells by its length. */
function namePayee({ asset, contract, payTo, callData }: AuthorizedTransfer): string {
  return `${asset} ${contract} ${payTo} ${callData.length}`.toLowerCase();
}
