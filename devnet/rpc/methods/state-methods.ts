import type { Hex } from "viem";
import { z } from "zod";
import type { MethodGroup, Node } from "../method.ts";
import { address, readParams, slot, stateBlock } from "../params.ts";

const storageKeysMax = 1_024;
const storageKeys = z.array(slot).max(storageKeysMax);

type Proof = Readonly<{ storageProof: readonly Readonly<{ key: Hex; value: Hex; proof: readonly Hex[] }>[] }>;

/** Creates the account and storage methods. */
export function createStateMethods(node: Node): MethodGroup {
  const { anvil } = node;
  const createAccountMethod = (method: string) => async (params: readonly unknown[]) =>
    anvil.request(method, readParams([address, stateBlock], params));
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
  };
}

/** Pads a key to a word: anvil requires that, while EIP-1186 and geth accept any number of digits. */
function toWord(key: Hex): Hex {
  return `0x${key.slice(2).padStart(64, "0")}`;
}
