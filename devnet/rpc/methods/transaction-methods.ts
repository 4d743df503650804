import type { Hex } from "viem";
import type { z } from "zod";
import type { MethodGroup, Node } from "../method.ts";
import { address, blockNumberOrTag, bytes, hash, quantity64, readParams } from "../params.ts";
import { checkRawTransaction } from "../raw-transaction.ts";

/** Creates the methods that read, submit and count transactions. */
export function createTransactionMethods({ anvil }: Node): MethodGroup {
  let knownChainId: Promise<Hex> | undefined;
  const chainId = async () => Number(await (knownChainId ??= anvil.request<Hex>("eth_chainId")));
  const transaction =
    <const Schemas extends readonly z.ZodType[]>(method: string, schemas: Schemas) =>
    async (params: readonly unknown[]) => {
      const found = await anvil.request<Record<string, unknown> | null>(method, readParams(schemas, params));
      return found === null ? null : formatTransaction(found);
    };
  return {
    eth_sendRawTransaction: async (params) => {
      const [raw] = readParams([bytes], params);
      await checkRawTransaction(raw, chainId);
      return anvil.request("eth_sendRawTransaction", [raw]);
    },
    txpool_nonceFrom: async (params) => {
      const [account] = readParams([address], params);
      return anvil.request("eth_getTransactionCount", [account, "pending"]);
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
      return receipt === null ? null : formatReceipt(receipt);
    },
  };
}

/** An object of the chain, as anvil or the node returns it. */
export type Fields = Readonly<Record<string, unknown>>;

const blobTransaction = "0x3";

/** Formats a transaction as the execution API and geth define it: all block fields of a pending transaction are null. */
export function formatTransaction(transaction: Fields): Fields {
  return { blockTimestamp: null, ...transaction };
}

/**
 * Formats a receipt as the execution API defines it. Anvil adds the block's time, as a decimal number, and adds the blob gas price to
 * transactions without blobs.
 */
export function formatReceipt(receipt: Fields): Fields {
  const { blockTimestamp: _, ...timeless } = receipt;
  if (receipt["type"] === blobTransaction) return timeless;
  const { blobGasPrice: __, blobGasUsed: ___, ...withoutBlobs } = timeless;
  return withoutBlobs;
}
