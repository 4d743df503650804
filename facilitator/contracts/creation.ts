import {
  BaseError,
  concat,
  getContractAddress,
  isAddressEqual,
  isHex,
  keccak256,
  parseTransaction,
  recoverTransactionAddress,
  size,
  slice,
  type Address,
  type Hex,
  serializeTransaction,
  type PublicClient,
  type Transaction,
} from "viem";
import { describeChainFailure, isNodeError } from "#x402/chain-failure.ts";
import { canonicalContracts } from "#x402/contracts.ts";

/**
 * How a contract is created at its canonical address on any chain: by a call to the CREATE2 deployer, or by a transaction that was signed
 * without a chain id (before EIP-155), whose sender must be funded first.
 */
export type Creation = Readonly<{ initCode: Hex }> &
  (
    | Readonly<{ kind: "create2"; /** Salt and init code: the CREATE2 deployer's call data. */ data: Hex }>
    | Readonly<{ kind: "presigned"; raw: Hex; hash: Hex; sender: Address; gas: bigint; gasPrice: bigint }>
  );

/** Published salts, from scripts of github.com/Uniswap/permit2 and github.com/coinbase/x402. */
const salts = [
  "0x0000000000000000000000000000000000000000d3af2663da51c10215000000",
  "0x0000000000000000000000000000000000000000000000003000000007263b0e",
  "0x000000000000000000000000000000000000000000000000b000000001db633d",
] as const;

const saltBytes = 32;

/**
 * Reads `bytes` as the creation of the contract at `address`: init code, a salt and init code, or a signed transaction. The address is
 * computed from the bytes; returns undefined if it differs.
 */
export async function readCreation(address: Address, bytes: Hex): Promise<Creation | undefined> {
  if (!isHex(bytes) || size(bytes) <= saltBytes) return undefined;
  for (const data of [bytes, ...salts.map((salt) => concat([salt, bytes]))]) {
    const [salt, initCode] = [slice(data, 0, saltBytes), slice(data, saltBytes)];
    const from = canonicalContracts.create2Deployer.address;
    const createdAddress = getContractAddress({ opcode: "CREATE2", from, salt, bytecode: initCode });
    if (isAddressEqual(createdAddress, address)) return { kind: "create2", data, initCode };
  }
  const presignedTransaction = await readPresigned(bytes);
  if (presignedTransaction === undefined) return undefined;
  const createdAddress = getContractAddress({ from: presignedTransaction.sender, nonce: 0n });
  return isAddressEqual(createdAddress, address) ? presignedTransaction : undefined;
}

async function readPresigned(raw: Hex): Promise<Extract<Creation, { kind: "presigned" }> | undefined> {
  try {
    const { type, chainId, to, nonce = 0, data, gas, gasPrice } = parseTransaction(raw);
    if (type !== "legacy" || chainId !== undefined || to || nonce !== 0) return undefined;
    if (data === undefined || gas === undefined || gasPrice === undefined) return undefined;
    const sender = await recoverTransactionAddress({ serializedTransaction: raw as `0x02${string}` });
    return { kind: "presigned", raw, hash: keccak256(raw), sender, gas, gasPrice, initCode: data };
  } catch {
    return undefined;
  }
}

/**
 * Finds the transaction that created a contract on another chain, and returns it as a creation that any chain accepts.
 * Needs an archive node: it searches for the first block whose state has the code.
 *
 * @returns a phrase that explains why there is none.
 * @throws {BaseError} when the node does not respond.
 */
export async function findCreationOnChain(source: PublicClient, address: Address): Promise<Creation | string> {
  if (!(await hasCode(source, address))) return "that chain does not have it either";
  try {
    return await searchCreation(source, address);
  } catch (error) {
    if (!(error instanceof BaseError && isNodeError(error))) throw error;
    return `its node rejects queries of old blocks, and may be pruned (${describeChainFailure(error)}); specify an archive node of that chain with --copy-from`;
  }
}

async function searchCreation(source: PublicClient, address: Address): Promise<Creation | string> {
  if (await hasCode(source, address, 0n)) return "that chain has it since genesis, without a transaction";
  let [blockWithoutCode, blockWithCode] = [0n, await source.getBlockNumber()];
  while (blockWithCode - blockWithoutCode > 1n) {
    const middle = (blockWithoutCode + blockWithCode) / 2n;
    if (await hasCode(source, address, middle)) blockWithCode = middle;
    else blockWithoutCode = middle;
  }
  const { transactions } = await source.getBlock({ blockNumber: blockWithCode, includeTransactions: true });
  for (const transaction of transactions) {
    const bytes = readCreatingBytes(transaction);
    const creation = bytes === undefined ? undefined : await readCreation(address, bytes);
    if (creation !== undefined) return creation;
  }
  return `the transaction that created it in block ${blockWithCode} of that chain can't be replayed on another chain`;
}

async function hasCode(chain: PublicClient, address: Address, blockNumber?: bigint): Promise<boolean> {
  const block = blockNumber === undefined ? {} : { blockNumber };
  return (await chain.getCode({ address, ...block })) !== undefined;
}

/** Returns the call data for the CREATE2 deployer, or a complete transaction, that creates a contract on any chain. */
function readCreatingBytes(transaction: Transaction): Hex | undefined {
  const { to, input } = transaction;
  if (to !== null) return isAddressEqual(to, canonicalContracts.create2Deployer.address) ? input : undefined;
  if (transaction.type !== "legacy" || transaction.chainId !== undefined) return undefined;
  const { nonce, gas, gasPrice, value, r, s, v } = transaction;
  return serializeTransaction({ type: "legacy", nonce, gas, gasPrice, value, data: input }, { r, s, v });
}
