import type { Chain, Receipt } from "../../chain/chain.ts";
import type { GasLimits } from "../../chain/gas-limits.ts";
import { readGasLimit } from "../../chain/transaction-signer.ts";
import { requireExecutionError } from "../../chain/chain-error.ts";
import type { Hex } from "#x402/hex.ts";
import type { InFlightSettlement } from "../in-flight.ts";
import type { Attempt } from "../settlement.ts";

export type MinedGasDependencies = Readonly<{ chain: Chain; gas: GasLimits }>;

/** Our mined transactions, by hash. */
type Receipts = ReadonlyMap<Hex, Receipt>;

/**
 * Returns whether a settlement's transactions failed for lack of gas: one of them used nearly all its gas or, shared with others, reverted
 * as a whole; none of its own had the max gas of a settlement; and the token would accept the payment now. Each contract in the call chain retains a 64th of the gas from the one that it
 * calls (EIP-150), so some gas remains when the innermost runs out; and where a chain charges the whole limit, all of it counts as used.
 *
 * @throws {ChainError} when the node can't respond.
 */
export async function hasLackedGas(
  { settlement, attempts }: InFlightSettlement,
  receipts: Receipts,
  { chain, gas }: MinedGasDependencies,
): Promise<boolean> {
  const mined = listMined(attempts, receipts).map(({ attempt, receipt }) => {
    const limit = readGasLimit(attempt.rawTransaction);
    const isShared = attempt.batch !== undefined;
    const isSpent = receipt.gasUsed * 10n >= limit * 9n || (isShared && receipt.status === 0);
    return { hadMost: !isShared && limit >= gas.most(settlement), isSpent };
  });
  if (mined.some(({ hadMost }) => hadMost) || !mined.some(({ isSpent }) => isSpent)) return false;
  const answer = await gas.estimate(settlement, chain);
  if (!answer.ok) requireExecutionError(answer.error);
  return answer.ok;
}

/**
 * Computes the signer's gas cost of a settlement, in wei: for the whole limit of each transaction if the chain charges that. Settlements
 * that share a transaction have equal parts, which add up to its cost.
 */
export function computeGasCost(
  { attempts }: Pick<InFlightSettlement, "attempts">,
  receipts: Receipts,
  { chargesGasLimit }: Readonly<{ chargesGasLimit: boolean }>,
): bigint {
  return listMined(attempts, receipts).reduce((sum, { attempt, receipt }) => {
    const gas = chargesGasLimit ? readGasLimit(attempt.rawTransaction) : receipt.gasUsed;
    const cost = gas * (receipt.effectiveGasPrice ?? attempt.maxFeePerGas);
    const { index, size } = attempt.batch ?? { index: 0, size: 1 };
    const partBefore = (count: number) => (cost * BigInt(count)) / BigInt(size);
    return sum + partBefore(index + 1) - partBefore(index);
  }, 0n);
}

function listMined(
  attempts: readonly Attempt[],
  receipts: Receipts,
): readonly Readonly<{ attempt: Attempt; receipt: Receipt }>[] {
  return attempts.flatMap((attempt) => {
    const receipt = receipts.get(attempt.hash);
    return receipt === undefined ? [] : [{ attempt, receipt }];
  });
}
