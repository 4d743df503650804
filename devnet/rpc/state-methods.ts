import type { Hex } from "viem";
import { z } from "zod";
import type { MethodGroup, Node } from "./method.ts";
import { address, bytes, callObject, readParams, slot, stateBlock } from "./params.ts";
import { errorCode, RpcError } from "./rpc-error.ts";

const storageKeysMax = 1_024;
const storageKeys = z.array(slot).max(storageKeysMax);
const overrides = z.looseObject({});

type Proof = Readonly<{ storageProof: readonly Readonly<{ key: Hex; value: Hex; proof: readonly Hex[] }>[] }>;

/** Accounts, their storage, and what calls would do to them. */
export function stateMethods({ anvil }: Node): MethodGroup {
  const ofAccount = (method: string) => async (params: readonly unknown[]) =>
    anvil.request(method, readParams([address, stateBlock], params));
  const ofCall = (method: string) => async (params: readonly unknown[]) => {
    const schemas = [callObject, stateBlock.optional(), overrides.optional(), overrides.optional()] as const;
    const [call, block = "latest", ...rest] = readParams(schemas, params);
    return anvil.request(method, [call, block, ...rest.filter((override) => override !== undefined)]);
  };
  return {
    eth_getBalance: ofAccount("eth_getBalance"),
    eth_getTransactionCount: ofAccount("eth_getTransactionCount"),
    eth_getCode: ofAccount("eth_getCode"),
    eth_getAccount: ofAccount("eth_getAccount"),
    eth_getStorageAt: async (params) =>
      anvil.request("eth_getStorageAt", readParams([address, slot, stateBlock], params)),
    eth_getProof: async (params) => {
      const [account, keys, block] = readParams([address, storageKeys, stateBlock], params);
      const proof = await anvil.request<Proof>("eth_getProof", [account, keys.map(padWord), block]);
      const storageProof = proof.storageProof.map((entry, index) => ({ ...entry, key: keys[index] ?? entry.key }));
      return { ...proof, storageProof };
    },
    eth_call: ofCall("eth_call"),
    eth_estimateGas: ofCall("eth_estimateGas"),
    eth_createAccessList: async (params) => {
      const [call, block = "latest"] = readParams([callObject, stateBlock.optional()], params);
      return anvil.request("eth_createAccessList", [call, block]);
    },
    eth_sendRawTransaction: async (params) => {
      const [raw] = readParams([bytes], params);
      checkTransactionType(raw);
      return anvil.request("eth_sendRawTransaction", [raw]);
    },
    txpool_nonceFrom: async (params) => {
      const [account] = readParams([address], params);
      return anvil.request("eth_getTransactionCount", [account, "pending"]);
    },
  };
}

/** Anvil wants whole words where EIP-1186 and geth take any number of digits. */
function padWord(key: Hex): Hex {
  return `0x${key.slice(2).padStart(64, "0")}`;
}

/** The envelopes that the specification names: legacy (an RLP list), EIP-2930 and EIP-1559. */
function checkTransactionType(raw: Hex): void {
  const first = Number.parseInt(raw.slice(2, 4), 16);
  if (Number.isNaN(first)) throw new RpcError(errorCode.server, "failed to decode the signed transaction");
  if (first >= 0xc0 || first === 1 || first === 2) return;
  throw new RpcError(errorCode.server, "transaction type not supported");
}
