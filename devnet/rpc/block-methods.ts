import { z } from "zod";
import { resolveNumber } from "./block-reader.ts";
import { checkRange, rangedLogFilter, type RangedLogFilter } from "./log-filter.ts";
import type { MethodGroup, Node } from "./method.ts";
import { blockIdOrObject, blockNumberOrTag, hash, quantity64, readParams } from "./params.ts";
import { errorCode, RpcError } from "./rpc-error.ts";
import { wireBlock, wireReceipt, wireTransaction, type AnvilBlock } from "./wire-objects.ts";

/** Blocks, transactions, receipts and logs. */
export function blockMethods(node: Node): MethodGroup {
  const { anvil } = node;
  const pass =
    <const Schemas extends readonly z.ZodType[]>(method: string, schemas: Schemas) =>
    async (params: readonly unknown[]) =>
      anvil.request(method, readParams(schemas, params));
  const block = async (method: string, params: readonly unknown[]) => {
    const found = await anvil.request<AnvilBlock | null>(method, params);
    return found === null ? null : wireBlock(found);
  };
  const transaction =
    <const Schemas extends readonly z.ZodType[]>(method: string, schemas: Schemas) =>
    async (params: readonly unknown[]) => {
      const found = await anvil.request<Record<string, unknown> | null>(method, readParams(schemas, params));
      return found === null ? null : wireTransaction(found);
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
      return receipts?.map(wireReceipt) ?? null;
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
      return receipt === null ? null : wireReceipt(receipt);
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
