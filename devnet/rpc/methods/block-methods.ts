import { z } from "zod";
import type { Hex } from "viem";
import { resolveNumber } from "../block-reader.ts";
import { checkRange, rangedLogFilter, type RangedLogFilter } from "../log-filter.ts";
import type { MethodGroup, Node } from "../method.ts";
import { blockIdOrObject, blockNumberOrTag, hash, quantity64, readParams } from "../params.ts";
import { errorCode, RpcError } from "../rpc-error.ts";

/** Creates the block, transaction, receipt and log methods. */
export function createBlockMethods(node: Node): MethodGroup {
  const { anvil } = node;
  const pass =
    <const Schemas extends readonly z.ZodType[]>(method: string, schemas: Schemas) =>
    async (params: readonly unknown[]) =>
      anvil.request(method, readParams(schemas, params));
  const block = async (method: string, params: readonly unknown[]) => {
    const found = await anvil.request<AnvilBlock | null>(method, params);
    return found === null ? null : formatBlock(found);
  };
  const transaction =
    <const Schemas extends readonly z.ZodType[]>(method: string, schemas: Schemas) =>
    async (params: readonly unknown[]) => {
      const found = await anvil.request<Record<string, unknown> | null>(method, readParams(schemas, params));
      return found === null ? null : formatTransaction(found);
    };
  return {
    eth_blockNumber: pass("eth_blockNumber", []),
    eth_chainId: pass("eth_chainId", []),
    eth_syncing: pass("eth_syncing", []),
    eth_getBlockByHash: (params) => block("eth_getBlockByHash", readParams([hash, z.boolean()], params)),
    eth_getBlockByNumber: (params) =>
      block("eth_getBlockByNumber", readParams([blockNumberOrTag, z.boolean()], params)),
    eth_getBlockReceipts: async (params) => {
      const [id] = readParams([blockIdOrObject], params);
      const receipts = await anvil.request<readonly Record<string, unknown>[] | null>("eth_getBlockReceipts", [id]);
      return receipts?.map(formatReceipt) ?? null;
    },
    eth_getBlockTransactionCountByHash: pass("eth_getBlockTransactionCountByHash", [hash]),
    eth_getBlockTransactionCountByNumber: async (params) => {
      const [id] = readParams([blockNumberOrTag], params);
      const found = await anvil.request<AnvilBlock | null>("eth_getBlockByNumber", [id, false]);
      return found === null ? null : `0x${found.transactions.length.toString(16)}`;
    },
    eth_getTransactionByHash: transaction("eth_getTransactionByHash", [hash]),
    eth_getTransactionByBlockHashAndIndex: transaction("eth_getTransactionByBlockHashAndIndex", [hash, quantity64]),
    eth_getTransactionByBlockNumberAndIndex: transaction("eth_getTransactionByBlockNumberAndIndex", [
      blockNumberOrTag,
      quantity64,
    ]),
    eth_getTransactionReceipt: async (params) => {
      const [transactionHash] = readParams([hash], params);
      const receipt = await anvil.request<Record<string, unknown> | null>("eth_getTransactionReceipt", [
        transactionHash,
      ]);
      return receipt === null ? null : formatReceipt(receipt);
    },
    eth_getLogs: async (params) => {
      const [filter] = readParams([rangedLogFilter], params);
      checkRange(filter);
      await checkBeginning(node, filter);
      return anvil.request("eth_getLogs", [filter]);
    },
  };
}

async function checkBeginning(node: Node, { fromBlock }: RangedLogFilter): Promise<void> {
  if (typeof fromBlock !== "string" || !fromBlock.startsWith("0x")) return;
  if (BigInt(fromBlock) <= BigInt(await resolveNumber(node, "latest"))) return;
  throw new RpcError(errorCode.invalidParams, "block range extends beyond current head block");
}

/** An object of the chain, as anvil or the node returns it. */
type Fields = Readonly<Record<string, unknown>>;

/** A block as anvil returns it; only the fields used here. */
type AnvilBlock = Fields & Readonly<{ size: Hex; transactions: readonly unknown[] }>;

const blobTransaction = "0x3";

/**
 * Formats a block as the execution API defines it. Anvil still returns the total difficulty, which ended with proof of work, and omits the
 * empty list of withdrawals (EIP-4895) from the block's size.
 */
export function formatBlock(block: AnvilBlock): Fields {
  const { totalDifficulty: _, ...rest } = block;
  return { ...rest, size: withOneByteMore(block.size) };
}

/** Formats a transaction as the execution API and geth define it: all block fields of a pending transaction are null. */
export function formatTransaction(transaction: Fields): Fields {
  return { blockTimestamp: null, ...transaction };
}

/**
 * Formats a receipt as the execution API defines it. Anvil adds the block's time, as a decimal number, and adds the blob gas price to
 * transactions without blobs.
 */
export function formatReceipt(receipt: Fields): Fields {
  const { blockTimestamp: _, ...timeless } = receipt;
  if (receipt["type"] === blobTransaction) return timeless;
  const { blobGasPrice: __, blobGasUsed: ___, ...withoutBlobs } = timeless;
  return withoutBlobs;
}

/** Computes the length of an RLP list whose content grows by one byte, which can lengthen its prefix too. */
function withOneByteMore(size: Hex): Hex {
  const content = [2, 3, 4, 5]
    .map((prefix) => Number(size) - prefix)
    .find((length) => computeListLength(length) === Number(size));
  if (content === undefined) throw new RangeError(`no block has ${size} bytes`);
  return `0x${computeListLength(content + 1).toString(16)}`;
}

/** Computes the size of an RLP list with more than 55 bytes of content: one byte, the bytes of the length, the content. */
function computeListLength(content: number): number {
  return 1 + Math.ceil(content.toString(16).length / 2) + content;
}
