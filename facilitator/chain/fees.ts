import * as Value from "ox/Value";
import type { Clock } from "#daemon/clock.ts";
import type { Chain } from "./chain.ts";
import { ChainError } from "./chain-error.ts";

export type Fees = Readonly<{ maxFeePerGas: bigint; maxPriorityFeePerGas: bigint }>;

export type FeeQuotes = ReturnType<typeof createFeeQuotes>;

const quoteAgeMaxMs = 2_000;

/** Quotes twice the base fee plus the node's tip, which suffices for six full blocks, capped at `maxFeePerGasGwei`. */
export function createFeeQuotes(
  { maxFeePerGasGwei }: Readonly<{ maxFeePerGasGwei: number }>,
  { chain, monotonicMs }: Readonly<{ chain: Chain }> & Pick<Clock, "monotonicMs">,
) {
  const limit = computeFeeLimit(maxFeePerGasGwei);
  let lastQuote: Readonly<{ fees: Fees; quotedAtMs: number }> | undefined;
  return {
    /** @throws {ChainError} when the node doesn't respond, or when the chain charges more than the limit. */
    quote: async (): Promise<Fees> => {
      if (lastQuote !== undefined && monotonicMs() - lastQuote.quotedAtMs < quoteAgeMaxMs) return lastQuote.fees;
      const [{ baseFeePerGas }, tip] = await Promise.all([chain.head(), chain.priorityFee()]);
      if (baseFeePerGas === undefined) {
        throw new ChainError("bad_answer", "the chain's blocks have no baseFeePerGas; EIP-1559 is required");
      }
      const fees = computeFees(baseFeePerGas, tip, limit);
      lastQuote = { fees, quotedAtMs: monotonicMs() };
      return fees;
    },
  };
}

const gweiDecimals = 9;

export function computeFeeLimit(maxFeePerGasGwei: number): bigint {
  return Value.fromGwei(maxFeePerGasGwei.toFixed(gweiDecimals));
}

function computeFees(baseFeePerGas: bigint, tip: bigint, limit: bigint): Fees {
  const requiredFee = baseFeePerGas + tip;
  if (requiredFee > limit) {
    throw new ChainError(
      "rejected",
      `the chain charges ${Value.formatGwei(requiredFee)} gwei for gas, but settlement.maxFeePerGasGwei allows ${Value.formatGwei(limit)}`,
    );
  }
  const doubledFee = 2n * baseFeePerGas + tip;
  return { maxFeePerGas: doubledFee < limit ? doubledFee : limit, maxPriorityFeePerGas: tip };
}

/**
 * Raises the fees of a pending transaction to replace it: both by the percentage (nodes require at least 10), or to the chain's current
 * fees if higher. Returns `undefined` if that exceeds the limit.
 */
export function raiseFees(
  previousFees: Fees,
  now: Fees,
  { percent, limit }: Readonly<{ percent: number; limit: bigint }>,
): Fees | undefined {
  const raise = (fee: bigint) => (fee * BigInt(100 + percent) + 99n) / 100n;
  const maxFeePerGas = chooseLarger(raise(previousFees.maxFeePerGas), now.maxFeePerGas);
  const maxPriorityFeePerGas = chooseLarger(raise(previousFees.maxPriorityFeePerGas), now.maxPriorityFeePerGas);
  return maxFeePerGas > limit ? undefined : { maxFeePerGas, maxPriorityFeePerGas };
}

function chooseLarger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
