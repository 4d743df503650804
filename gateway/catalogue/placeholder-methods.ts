import { rpcCodes } from "../errors.ts";
import type { Method, Param } from "./method.ts";
import { block, blockHash, indexParam, never } from "./method-parts.ts";

function definePlaceholder(name: string, constant: string, params: readonly Param[] = []): Method {
  return {
    name,
    summary: "Placeholder for clients that expect proof of work; always the same",
    params,
    result: `always \`${constant}\``,
    audience: "public",
    answeredBy: "gateway",
    constant,
    cache: never,
    costUnits: 1,
    timeoutMs: 1_000,
    repeatable: true,
  };
}

/** Specification, "Placeholder methods": the gateway answers them with constants. */
export const placeholderMethods: readonly Method[] = [
  definePlaceholder("eth_coinbase", '"0x0"'),
  definePlaceholder("eth_mining", "false"),
  definePlaceholder("eth_hashrate", '"0x0"'),
  definePlaceholder("eth_accounts", "[]"),
  definePlaceholder("eth_pendingTransactions", "[]"),
  definePlaceholder("eth_getCompilers", "[]"),
  definePlaceholder("eth_getUncleCountByBlockHash", "null", [blockHash]),
  definePlaceholder("eth_getUncleCountByBlockNumber", "null", [block]),
  definePlaceholder("eth_getUncleByBlockHashAndIndex", "null", [blockHash, indexParam]),
  definePlaceholder("eth_getUncleByBlockNumberAndIndex", "null", [block, indexParam]),
];

function defineUnimplemented(name: string): Method {
  return {
    name,
    summary: "Declared but not implemented: METHOD_NOT_FOUND",
    params: [],
    result: `error ${rpcCodes.methodNotFound}`,
    audience: "nobody",
    answeredBy: "nobody",
    cache: never,
    costUnits: 1,
    timeoutMs: 1_000,
    repeatable: true,
  };
}

/** Specification, "Declared but unimplemented". */
export const unimplementedMethods: readonly Method[] = [
  defineUnimplemented("eth_batchGetBlockByNumber"),
  defineUnimplemented("eth_batchGetTransactionByHash"),
  defineUnimplemented("eth_batchGetTransactionReceipt"),
  defineUnimplemented("eth_batchGetBlockReceipts"),
];
