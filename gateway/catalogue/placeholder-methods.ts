import { rpcCodes } from "../errors.ts";
import type { Method, Param } from "./method.ts";
import { block, blockHash, index, never } from "./method-parts.ts";

function placeholder(name: string, constant: string, params: readonly Param[] = []): Method {
  return {
    name,
    summary: "Kept for programs that expect proof of work; always the same",
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

/** Specification, "Placeholder methods": the gateway answers them with their constants. */
export const placeholderMethods: readonly Method[] = [
  placeholder("eth_coinbase", '"0x0"'),
  placeholder("eth_mining", "false"),
  placeholder("eth_hashrate", '"0x0"'),
  placeholder("eth_accounts", "[]"),
  placeholder("eth_pendingTransactions", "[]"),
  placeholder("eth_getCompilers", "[]"),
  placeholder("eth_getUncleCountByBlockHash", "null", [blockHash]),
  placeholder("eth_getUncleCountByBlockNumber", "null", [block]),
  placeholder("eth_getUncleByBlockHashAndIndex", "null", [blockHash, index]),
  placeholder("eth_getUncleByBlockNumberAndIndex", "null", [block, index]),
];

function unimplemented(name: string): Method {
  return {
    name,
    summary: "Declared and not implemented: METHOD_NOT_FOUND",
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
  unimplemented("eth_batchGetBlockByNumber"),
  unimplemented("eth_batchGetTransactionByHash"),
  unimplemented("eth_batchGetTransactionReceipt"),
  unimplemented("eth_batchGetBlockReceipts"),
];
