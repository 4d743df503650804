import type { Method } from "./method.ts";
import {
  block,
  blockHash,
  blockNumberOrHash,
  byBlock,
  byHash,
  defineNodeMethod,
  fullTransactions,
} from "./method-parts.ts";

/** Specification, "Standard methods": blocks. */
export const blockMethods: readonly Method[] = [
  defineNodeMethod({
    name: "eth_getBlockByHash",
    summary: "Block by hash",
    params: [blockHash, fullTransactions],
    result: "block object, or null",
    cache: byHash,
    costUnits: 20,
  }),
  defineNodeMethod({
    name: "eth_getBlockByNumber",
    summary: "Block by number",
    params: [block, fullTransactions],
    result: "block object, or null",
    cache: byBlock(0),
    costUnits: 20,
  }),
  defineNodeMethod({
    name: "eth_getBlockReceipts",
    summary: "Receipts of a block",
    params: [blockNumberOrHash],
    result: "array of receipts",
    cache: byBlock(0),
    costUnits: 40,
  }),
  defineNodeMethod({
    name: "eth_getBlockTransactionCountByHash",
    summary: "Number of transactions in a block",
    params: [blockHash],
    result: "quantity",
    cache: byHash,
    costUnits: 10,
  }),
  defineNodeMethod({
    name: "eth_getBlockTransactionCountByNumber",
    summary: "Number of transactions in a block",
    params: [block],
    result: "quantity",
    cache: byBlock(0),
    costUnits: 10,
  }),
];
