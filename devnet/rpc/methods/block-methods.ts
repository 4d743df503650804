import { z } from "zod";
import type { Hex } from "viem";
import type { MethodGroup, Node } from "../method.ts";
import { blockIdOrObject, blockNumberOrTag, hash, readParams } from "../params.ts";
import { type Fields, formatReceipt } from "./transaction-methods.ts";

/** Creates the block methods. */
export function createBlockMethods(node: Node): MethodGroup {
  const { anvil } = node;
  const block = async (method: string, params: readonly unknown[]) => {
    const found = await anvil.request<AnvilBlock | null>(method, params);
    return found === null ? null : formatBlock(found);
  };
  return {
    eth_getBlockByHash: (params) => block("eth_getBlockByHash", readParams([hash, z.boolean()], params)),
    eth_getBlockByNumber: (params) =>
      block("eth_getBlockByNumber", readParams([blockNumberOrTag, z.boolean()], params)),
    eth_getBlockReceipts: async (params) => {
      const [id] = readParams([blockIdOrObject], params);
      const receipts = await anvil.request<readonly Record<string, unknown>[] | null>("eth_getBlockReceipts", [id]);
      return receipts?.map(formatReceipt) ?? null;
    },
    eth_getBlockTransactionCountByHash: async (params) =>
      anvil.request("eth_getBlockTransactionCountByHash", readParams([hash], params)),
    eth_getBlockTransactionCountByNumber: async (params) => {
      const [id] = readParams([blockNumberOrTag], params);
      const found = await anvil.request<AnvilBlock | null>("eth_getBlockByNumber", [id, false]);
      return found === null ? null : `0x${found.transactions.length.toString(16)}`;
    },
  };
}

/** A block as anvil returns it; only the fields used here. */
type AnvilBlock = Fields & Readonly<{ size: Hex; transactions: readonly unknown[] }>;

/**
 * Formats a block as the execution API defines it. Anvil still returns the total difficulty, which ended with proof of work, and omits the
 * empty list of withdrawals (EIP-4895) from the block's size.
 */
export function formatBlock(block: AnvilBlock): Fields {
  const { totalDifficulty: _, ...rest } = block;
  return { ...rest, size: withOneByteMore(block.size) };
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
