import type { Chain, Receipt } from "../../chain/chain.ts";
import type { GasLimits } from "../../chain/gas-limits.ts";
import type { TransactionSigner } from "../../chain/transaction-signer.ts";
import type { Hex } from "#x402/hex.ts";
import type { InFlight } from "../in-flight.ts";
import type { Attempt } from "../settlement.ts";

export type MinedGasDependencies = Readonly<{
  chain: Chain;
  gas: GasLimits;
  readGasLimit: TransactionSigner["readGasLimit"];
}>;

/** Our transactions that are in blocks, by their hashes. */
type Receipts = ReadonlyMap<Hex, Receipt>;

/**
 * Whether a settlement whose transactions reverted had too little gas: one of them used nearly all that it had, none had the most that
 * a settlement may use, and the token would take the payment now. Each contract on the way keeps a 64th from the one that it calls (EIP-150), so
 * some gas is left when the innermost runs out; and where a chain charges the whole limit, all counts as used.
 *
 * @throws {ChainError} when the node can't say.
 */
export async function hasLackedGas(
  { settlement, attempts }: InFlight,
  receipts: Receipts,
  { chain, gas, readGasLimit }: MinedGasDependencies,
): Promise<boolean> {
  const mined = listMined(attempts, receipts).map(({ attempt, receipt }) => {
    const limit = readGasLimit(attempt.rawTransaction);
    return { hadMost: limit >= gas.most, isSpent: receipt.gasUsed * 10n >= limit * 9n };
  });
  if (mined.some(({ hadMost }) => hadMost) || !mined.some(({ isSpent }) => isSpent)) return false;
  return (await gas.estimate(settlement, chain)).ok;
}

/** Computes what the signer paid for the gas of a settlement, in wei: for the whole limit of each transaction where the chain charges that. */
export function computeGasCost(
  { attempts }: Pick<InFlight, "attempts">,
  receipts: Receipts,
  {
    chargesGasLimit,
    readGasLimit,
  }: Pick<MinedGasDependencies, "readGasLimit"> & Readonly<{ chargesGasLimit: boolean }>,
): bigint {
  return listMined(attempts, receipts).reduce((sum, { attempt, receipt }) => {
    const gas = chargesGasLimit ? readGasLimit(attempt.rawTransaction) : receipt.gasUsed;
    return sum + gas * (receipt.effectiveGasPrice ?? attempt.maxFeePerGas);
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
