import type { Hex } from "viem";

/** An object of the chain, as anvil or as the node answers it. */
type Fields = Readonly<Record<string, unknown>>;

/** A block as anvil gives it, as far as it is looked at. */
export type AnvilBlock = Fields & Readonly<{ size: Hex; transactions: readonly unknown[] }>;

const blobTransaction = "0x3";

/**
 * A block as the execution API has it. Anvil still gives the total difficulty, which ended with proof of work, and forgets the
 * empty list of withdrawals (EIP-4895) when it counts the block's bytes.
 */
export function wireBlock(block: AnvilBlock): Fields {
  const { totalDifficulty: _, ...rest } = block;
  return { ...rest, size: withOneByteMore(block.size) };
}

/** A transaction as the execution API and geth have it: one that waits for a block says so in each of the block's fields. */
export function wireTransaction(transaction: Fields): Fields {
  return { blockTimestamp: null, ...transaction };
}

/**
 * A receipt as the execution API has it. Anvil adds the block's time, and that as a decimal number, and tells the price of blob
 * gas to transactions without blobs.
 */
export function wireReceipt(receipt: Fields): Fields {
  const { blockTimestamp: _, ...timeless } = receipt;
  if (receipt["type"] === blobTransaction) return timeless;
  const { blobGasPrice: __, blobGasUsed: ___, ...withoutBlobs } = timeless;
  return withoutBlobs;
}

/** The length of an RLP list whose content grows by a byte, which can make its prefix longer too. */
function withOneByteMore(size: Hex): Hex {
  const content = [2, 3, 4, 5]
    .map((prefix) => Number(size) - prefix)
    .find((length) => listLength(length) === Number(size));
  if (content === undefined) throw new RangeError(`no block has ${size} bytes`);
  return `0x${listLength(content + 1).toString(16)}`;
}

/** Bytes of an RLP list whose content has more than 55 bytes: a byte, the length's own bytes, the content. */
function listLength(content: number): number {
  return 1 + Math.ceil(content.toString(16).length / 2) + content;
}
