import { resolveNumber } from "../block-reader.ts";
import { checkRange, rangedLogFilter, type RangedLogFilter } from "../log-filter.ts";
import type { MethodGroup, Node } from "../method.ts";
import { readParams } from "../params.ts";
import { errorCode, RpcError } from "../rpc-error.ts";

/** Creates the log methods. */
export function createLogMethods(node: Node): MethodGroup {
  return {
    eth_getLogs: async (params) => {
      const [filter] = readParams([rangedLogFilter], params);
      checkRange(filter);
      await checkBeginning(node, filter);
      return node.anvil.request("eth_getLogs", [filter]);
    },
  };
}

async function checkBeginning(node: Node, { fromBlock }: RangedLogFilter): Promise<void> {
  if (typeof fromBlock !== "string" || !fromBlock.startsWith("0x")) return;
  if (BigInt(fromBlock) <= BigInt(await resolveNumber(node, "latest"))) return;
  throw new RpcError(errorCode.invalidParams, "block range extends beyond current head block");
}
