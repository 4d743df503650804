import type { Hex } from "viem";
import { z } from "zod";
import { createAccessList } from "../evm/access-list.ts";
import { checkCall, runCall, type ChainCall } from "../evm/chain-call.ts";
import type { MethodGroup, Node } from "../method.ts";
import { callObject, readParams, stateBlock } from "../params.ts";

const overrides = z.looseObject({});

/** Creates the methods that execute a call without changing the chain's state. */
export function createExecuteMethods(node: Node): MethodGroup {
  return {
    eth_call: async (params) => runCall(node, "eth_call", readCall(params)),
    eth_estimateGas: async (params) => estimateGas(node, readCall(params)),
    eth_createAccessList: async (params) => createAccessList(node, readCall(params)),
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
