import type { Hex } from "viem";
import { z } from "zod";
import { createAccessList } from "../evm/access-list.ts";
import { checkCall, runCall, type ChainCall } from "../evm/chain-call.ts";
import type { MethodGroup, Node } from "../method.ts";
import { address, bytes, callObject, readParams, slot, stateBlock } from "../params.ts";
import { checkRawTransaction } from "../raw-transaction.ts";

const storageKeysMax = 1_024;
const storageKeys = z.array(slot).max(storageKeysMax);
const overrides = z.looseObject({});

type Proof = Readonly<{ storageProof: readonly Readonly<{ key: Hex; value: Hex; proof: readonly Hex[] }>[] }>;

/** Creates the account, storage, call and raw transaction methods. */
export function createStateMethods(node: Node): MethodGroup {
  const { anvil } = node;
  const createAccountMethod = (method: string) => async (params: readonly unknown[]) =>
    anvil.request(method, readParams([address, stateBlock], params));
  let knownChainId: Promise<Hex> | undefined;
  const chainId = async () => Number(await (knownChainId ??= anvil.request<Hex>("eth_chainId")));
  return {
    eth_getBalance: createAccountMethod("eth_getBalance"),
    eth_getTransactionCount: createAccountMethod("eth_getTransactionCount"),
    eth_getCode: createAccountMethod("eth_getCode"),
    eth_getAccount: createAccountMethod("eth_getAccount"),
    eth_getStorageAt: async (params) =>
      anvil.request("eth_getStorageAt", readParams([address, slot, stateBlock], params)),
    eth_getProof: async (params) => {
      const [account, keys, block] = readParams([address, storageKeys, stateBlock], params);
      const proof = await anvil.request<Proof>("eth_getProof", [account, keys.map(toWord), block]);
      const storageProof = proof.storageProof.map((entry, index) => ({ ...entry, key: keys[index] ?? entry.key }));
      return { ...proof, storageProof };
    },
    eth_call: async (params) => runCall(node, "eth_call", readCall(params)),
    eth_estimateGas: async (params) => estimateGas(node, readCall(params)),
    eth_createAccessList: async (params) => createAccessList(node, readCall(params)),
    eth_sendRawTransaction: async (params) => {
      const [raw] = readParams([bytes], params);
      await checkRawTransaction(raw, chainId);
      return anvil.request("eth_sendRawTransaction", [raw]);
    },
    txpool_nonceFrom: async (params) => {
      const [account] = readParams([address], params);
      return anvil.request("eth_getTransactionCount", [account, "pending"]);
    },
  };
}

function readCall(params: readonly unknown[]): ChainCall {
  const schemas = [callObject, stateBlock.optional(), overrides.optional(), overrides.optional()] as const;
  const [call, block = "latest", stateOverrides, blockOverrides] = readParams(schemas, params);
  checkCall(call);
  return { call, block, stateOverrides, blockOverrides };
}

async function estimateGas(node: Node, chainCall: ChainCall): Promise<Hex> {
  // Anvil returns 21000 for a plain transfer without checking the sender's balance.
  if (BigInt(chainCall.call.value ?? "0x0") > 0n) await runCall(node, "eth_call", chainCall);
  return runCall<Hex>(node, "eth_estimateGas", chainCall);
}

/** Pads a key to a word: anvil requires that, while EIP-1186 and geth accept any number of digits. */
function toWord(key: Hex): Hex {
  return `0x${key.slice(2).padStart(64, "0")}`;
}
