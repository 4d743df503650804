import type { Hex } from "#x402/hex.ts";
import { z } from "zod";
import type { JsonRpcAnswer } from "#daemon/json-rpc.ts";
import type { Chain } from "./chain.ts";
import { ChainError } from "./chain-error.ts";

/** Most gas of one settlement, what its transaction gets beyond the estimate, in per cent, and how many estimates are remembered. */
export type GasLimitOptions = Readonly<{ gasLimit: number; gasMarginPercent: number; entriesMax: number }>;

/** Token transfer that a payment authorizes. */
type AuthorizedTransfer = Readonly<{ id: Hex; asset: Hex; callData: Hex }>;

/** Gas limits of payments' transactions, by what the node estimates. */
export type GasLimits = Readonly<{
  /** Estimates the gas of a payment, and remembers it. The node's error says that the payment would fail. */
  estimate: (transfer: AuthorizedTransfer, chain: Chain) => Promise<JsonRpcAnswer>;
  /** Returns the limit for a payment's transaction: the estimate and the margin, never above `most`; undefined without an estimate. */
  find: (id: Hex) => bigint | undefined;
  /** Most gas that one settlement may use. */
  most: bigint;
}>;

const estimateSchema = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,16}$/)
  .transform(BigInt);

/** Creates the limits for transactions of one signer. Estimates of the oldest payments are forgotten first. */
export function createGasLimits(
  { gasLimit, gasMarginPercent, entriesMax }: GasLimitOptions,
  { signer }: Readonly<{ signer: Hex }>,
): GasLimits {
  const most = BigInt(gasLimit);
  const estimates = new Map<Hex, bigint>();
  return {
    most,
    estimate: async ({ id, asset, callData }, chain) => {
      const answer = await chain.estimateGas({ from: signer, to: asset, data: callData, gas: gasLimit });
      if (!answer.ok) return answer;
      const gas = estimateSchema.safeParse(answer.result);
      if (!gas.success)
        throw new ChainError("bad_answer", "the node's answer to eth_estimateGas is not an amount of gas");
      estimates.delete(id);
      estimates.set(id, gas.data);
      for (const oldest of estimates.keys()) if (estimates.size > entriesMax) estimates.delete(oldest);
      return answer;
    },
    find: (id) => {
      const gas = estimates.get(id);
      if (gas === undefined) return undefined;
      const limit = (gas * BigInt(100 + gasMarginPercent) + 99n) / 100n;
      return limit < most ? limit : most;
    },
  };
}
