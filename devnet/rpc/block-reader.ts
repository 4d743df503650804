import type { Hex } from "viem";
import type { Node } from "./method.ts";
import { errorCode, RpcError } from "./rpc-error.ts";

/** A block as the chain returns it, with transaction hashes. */
export type Block = Readonly<{
  number: Hex;
  hash: Hex;
  parentHash: Hex;
  sha3Uncles: Hex;
  miner: Hex;
  stateRoot: Hex;
  transactionsRoot: Hex;
  receiptsRoot: Hex;
  logsBloom: Hex;
  difficulty: Hex;
  gasLimit: Hex;
  gasUsed: Hex;
  timestamp: Hex;
  extraData: Hex;
  mixHash: Hex;
  nonce: Hex;
  baseFeePerGas: Hex;
  withdrawalsRoot?: Hex;
  blobGasUsed?: Hex;
  excessBlobGas?: Hex;
  parentBeaconBlockRoot?: Hex;
  transactions: readonly Hex[];
}>;

/** A log as the chain returns it. */
type Log = Readonly<{ address: Hex; topics: readonly Hex[]; data: Hex }>;

/** A receipt as the chain returns it. */
export type Receipt = Readonly<{
  type: Hex;
  status: Hex;
  cumulativeGasUsed: Hex;
  gasUsed: Hex;
  effectiveGasPrice: Hex;
  logsBloom: Hex;
  logs: readonly Log[];
  transactionHash: Hex;
  blockNumber: Hex;
  blockHash: Hex;
}>;

/** Reads a block by number, tag or hash; returns null if there is none. */
export async function readBlock({ anvil }: Node, id: string): Promise<Block | null> {
  const method = id.length === 66 ? "eth_getBlockByHash" : "eth_getBlockByNumber";
  return anvil.request<Block | null>(method, [id, false]);
}

/**
 * Reads a block that must exist.
 *
 * @throws {RpcError} -32000 `header not found`, geth's text.
 */
export async function requireBlock(node: Node, id: string): Promise<Block> {
  const block = await readBlock(node, id);
  if (block === null) throw new RpcError(errorCode.server, "header not found");
  return block;
}

/** Reads the receipts of a block's transactions, in transaction order. */
export async function readReceipts({ anvil }: Node, block: Pick<Block, "number">): Promise<readonly Receipt[]> {
  return (await anvil.request<readonly Receipt[] | null>("eth_getBlockReceipts", [block.number])) ?? [];
}

/** Resolves a block number or tag to a number. */
export async function resolveNumber(node: Node, numberOrTag: string): Promise<number> {
  if (numberOrTag.startsWith("0x")) return Number(numberOrTag);
  return Number((await requireBlock(node, numberOrTag === "pending" ? "latest" : numberOrTag)).number);
}
