import type { Method } from "./method.ts";
import { account, block, byBlock, defineNodeMethod, listParamsBytes } from "./method-parts.ts";

/** Specification, "Standard methods": accounts, their code and their storage. */
export const stateMethods: readonly Method[] = [
  defineNodeMethod({
    name: "eth_getBalance",
    summary: "Balance of an account in Wei",
    params: [account, block],
    result: "quantity",
    cache: byBlock(1),
    costUnits: 15,
  }),
  defineNodeMethod({
    name: "eth_getTransactionCount",
    summary: "Nonce of an account",
    params: [account, block],
    result: "quantity",
    cache: byBlock(1),
    costUnits: 15,
  }),
  defineNodeMethod({
    name: "eth_getStorageAt",
    summary: "Value of a storage slot",
    params: [account, { name: "slot", shape: "quantity" }, block],
    result: "data",
    cache: byBlock(2),
    costUnits: 15,
  }),
  defineNodeMethod({
    name: "eth_getCode",
    summary: "Bytecode of an account",
    params: [account, block],
    result: "data",
    cache: byBlock(1),
    costUnits: 20,
  }),
  defineNodeMethod({
    name: "eth_getProof",
    summary: "Merkle proof of an account and its storage (EIP-1186)",
    params: [account, { name: "storageKeys", shape: "storageKeys" }, block],
    result: "proof object",
    cache: byBlock(2),
    paramsBytes: listParamsBytes,
    costUnits: 40,
  }),
];
