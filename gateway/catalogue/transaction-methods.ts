import type { Method } from "./method.ts";
import {
  block,
  blockHash,
  byBlock,
  byHash,
  dataParamsBytes,
  defineNodeMethod,
  indexParam,
  never,
  perHead,
  transactionHash,
} from "./method-parts.ts";

/** Specification, "Standard methods": transactions, their receipts, and their submission. */
export const transactionMethods: readonly Method[] = [
  defineNodeMethod({
    name: "eth_sendRawTransaction",
    summary: "Submits a signed transaction: legacy, EIP-2930 or EIP-1559",
    params: [{ name: "transaction", shape: "data" }],
    result: "transaction hash",
    cache: never,
    repeatable: false,
    whileBehind: true,
    paramsBytes: dataParamsBytes,
    costUnits: 40,
  }),
  defineNodeMethod({
    name: "eth_getTransactionByHash",
    summary: "Transaction by hash",
    params: [transactionHash],
    result: "transaction object, or null",
    cache: perHead,
    costUnits: 15,
  }),
  defineNodeMethod({
    name: "eth_getTransactionByBlockHashAndIndex",
    summary: "Transaction by index in a block",
    params: [blockHash, indexParam],
    result: "transaction object, or null",
    cache: byHash,
    costUnits: 15,
  }),
  defineNodeMethod({
    name: "eth_getTransactionByBlockNumberAndIndex",
    summary: "Transaction by index in a block",
    params: [block, indexParam],
    result: "transaction object, or null",
    cache: byBlock(0),
    costUnits: 15,
  }),
  defineNodeMethod({
    name: "eth_getTransactionReceipt",
    summary: "Receipt of a transaction",
    params: [transactionHash],
    result: "receipt object, or null",
    cache: perHead,
    costUnits: 15,
  }),
];
