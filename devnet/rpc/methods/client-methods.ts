import type { MethodGroup, Node } from "../method.ts";
import { readParams } from "../params.ts";

/** Creates the methods about the node's chain, height and sync status. */
export function createClientMethods({ anvil }: Node): MethodGroup {
  const pass = (method: string) => async (params: readonly unknown[]) => anvil.request(method, readParams([], params));
  return {
    eth_blockNumber: pass("eth_blockNumber"),
    eth_chainId: pass("eth_chainId"),
    eth_syncing: pass("eth_syncing"),
  };
}
