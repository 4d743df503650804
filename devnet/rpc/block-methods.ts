import { z } from "zod";
import { resolveNumber } from "./block-reader.ts";
import { checkRange, rangedLogFilter, type RangedLogFilter } from "./log-filter.ts";
import type { MethodGroup, Node } from "./method.ts";
import { blockId, blockNumberOrTag, hash, quantity, readParams } from "./params.ts";
import { errorCode, RpcError } from "./rpc-error.ts";

/** Blocks, transactions, receipts and logs. */
export function blockMethods(node: Node): MethodGroup {
  const { anvil } = node;
  const pass =
    <const Schemas extends readonly z.ZodType[]>(method: string, schemas: Schemas) =>
    async (params: readonly unknown[]) =>
      anvil.request(method, readParams(schemas, params));
  return {
    eth_blockNumber: pass("eth_blockNumber", []),
    eth_chainId: pass("eth_chainId", []),
    eth_syncing: pass("eth_syncing", []),
    eth_getBlockByHash: pass("eth_getBlockByHash", [hash, z.boolean()]),
    eth_getBlockByNumber: async (params) => {
      const [number, full] = readParams([blockNumberOrTag, z.boolean()], params);
      const block = await anvil.request<object | null>("eth_getBlockByNumber", [number, full]);
      // A block that is not made yet has no seal (execution API); anvil invents one.
      return number === "pending" && block !== null ? { ...block, hash: null, nonce: null, miner: null } : block;
    },
    eth_getBlockReceipts: pass("eth_getBlockReceipts", [blockId]),
    eth_getBlockTransactionCountByHash: pass("eth_getBlockTransactionCountByHash", [hash]),
    eth_getBlockTransactionCountByNumber: pass("eth_getBlockTransactionCountByNumber", [blockNumberOrTag]),
    eth_getTransactionByHash: pass("eth_getTransactionByHash", [hash]),
    eth_getTransactionByBlockHashAndIndex: pass("eth_getTransactionByBlockHashAndIndex", [hash, quantity]),
    eth_getTransactionByBlockNumberAndIndex: pass("eth_getTransactionByBlockNumberAndIndex", [
      blockNumberOrTag,
      quantity,
    ]),
    eth_getTransactionReceipt: pass("eth_getTransactionReceipt", [hash]),
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
