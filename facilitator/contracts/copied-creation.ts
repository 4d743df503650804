import {
  isAddressEqual,
  serializeTransaction,
  type Address,
  type Hex,
  type PublicClient,
  type Transaction,
} from "viem";
import { canonicalContracts } from "#x402/contracts.ts";
import { readCreation, type Creation } from "./creation.ts";

/**
 * Finds the transaction that created a contract on another chain, and returns it as a creation that any chain accepts.
 * Needs an archive node: it searches for the first block whose state has the code.
 *
 * @returns a phrase that explains why there is none.
 * @throws {BaseError} when the node does not respond, or lacks old states.
 */
export async function findCreationOnChain(source: PublicClient, address: Address): Promise<Creation | string> {
  if (!(await hasCode(source, address))) return "that chain does not have it either";
  if (await hasCode(source, address, 0n)) return "that chain has it since genesis, without a transaction";
  let [without, withCode] = [0n, await source.getBlockNumber()];
  while (withCode - without > 1n) {
    const middle = (without + withCode) / 2n;
    if (await hasCode(source, address, middle)) withCode = middle;
    else without = middle;
  }
  const { transactions } = await source.getBlock({ blockNumber: withCode, includeTransactions: true });
  for (const transaction of transactions) {
    const bytes = readCreatingBytes(transaction);
    const creation = bytes === undefined ? undefined : await readCreation(address, bytes);
    if (creation !== undefined) return creation;
  }
  return `the transaction that created it in block ${withCode} of that chain can't be replayed on another chain`;
}

async function hasCode(chain: PublicClient, address: Address, blockNumber?: bigint): Promise<boolean> {
  const block = blockNumber === undefined ? {} : { blockNumber };
  return (await chain.getCode({ address, ...block })) !== undefined;
}

/** Returns the call data for the CREATE2 deployer, or a whole transaction that creates a contract on any chain. */
function readCreatingBytes(transaction: Transaction): Hex | undefined {
  const { to, input } = transaction;
  if (to !== null) return isAddressEqual(to, canonicalContracts.create2Deployer.address) ? input : undefined;
  if (transaction.type !== "legacy" || transaction.chainId !== undefined) return undefined;
  const { nonce, gas, gasPrice, value, r, s, v } = transaction;
  return serializeTransaction({ type: "legacy", nonce, gas, gasPrice, value, data: input }, { r, s, v });
}
