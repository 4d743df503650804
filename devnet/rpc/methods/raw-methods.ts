import type { Hex } from "viem";
import { readReceipts, requireBlock, type Block } from "../block-reader.ts";
import type { MethodGroup, Node } from "../method.ts";
import { blockId, hash, readParams } from "../params.ts";

/** Creates the methods that return blocks, receipts and transactions as bytes; anvil itself has only the transaction method. */
export function createRawMethods(node: Node): MethodGroup {
  const read = async (params: readonly unknown[]): Promise<Block> => {
    const [id] = readParams([blockId], params);
    return requireBlock(node, id);
  };
  return {
    debug_getRawHeader: async (params) => (await loadEncoding()).encodeHeader(await read(params)),
    debug_getRawBlock: async (params) => {
      const block = await read(params);
      const transactions: Hex[] = [];
      for (const transaction of block.transactions) {
        transactions.push(await node.anvil.request<Hex>("debug_getRawTransaction", [transaction]));
      }
      return (await loadEncoding()).encodeBlock(block, transactions);
    },
    debug_getRawReceipts: async (params) => {
      const receipts = await readReceipts(node, await read(params));
      return receipts.map((await loadEncoding()).encodeReceipt);
    },
    debug_getRawTransaction: async (params) =>
      node.anvil.request("debug_getRawTransaction", readParams([hash], params)),
  };
}

/** Loads the encoding on first use, to keep the node's start fast. */
function loadEncoding() {
  return import("../raw-encoding.ts");
}
