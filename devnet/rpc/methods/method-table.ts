import { createBlockMethods } from "./block-methods.ts";
import { createClientMethods } from "./client-methods.ts";
import { createExecuteMethods } from "./execute-methods.ts";
import { createExtensionMethods } from "./extension-methods.ts";
import { createFeeMethods } from "./fee-methods.ts";
import { createLogMethods } from "./log-methods.ts";
import type { MethodTable, Node } from "../method.ts";
import { createNetworkMethods } from "./network-methods.ts";
import { createRawMethods } from "./raw-methods.ts";
import { createStateMethods } from "./state-methods.ts";
import { createSubscriptionMethods } from "./subscription-methods.ts";
import { createTraceMethods } from "./trace-methods.ts";
import { createTransactionMethods } from "./transaction-methods.ts";
import type { MethodGroup } from "../method.ts";

/** Creates the table of the node's methods (specification, "JSON-RPC interface"). Any other method, including the four batch methods, is METHOD_NOT_FOUND. */
export function createMethodTable(node: Node): MethodTable {
  const groups = [
    createFeeMethods(node),
    createClientMethods(node),
    createStateMethods(node),
    createExecuteMethods(node),
    createBlockMethods(node),
    createTransactionMethods(node),
    createLogMethods(node),
    createNetworkMethods(node),
    createRawMethods(node),
    createTraceMethods(node),
    createExtensionMethods(node),
    createPlaceholderMethods(),
    createSubscriptionMethods(),
  ];
  return new Map(groups.flatMap((group) => Object.entries(group)));
}

/** Results of the placeholder methods, independent of the parameters (specification, "Placeholder methods"). */
const constants: Readonly<Record<string, unknown>> = {
  eth_coinbase: "0x0",
  eth_mining: false,
  eth_hashrate: "0x0",
  eth_accounts: [],
  eth_pendingTransactions: [],
  eth_getCompilers: [],
  eth_getUncleCountByBlockHash: null,
  eth_getUncleCountByBlockNumber: null,
  eth_getUncleByBlockHashAndIndex: null,
  eth_getUncleByBlockNumberAndIndex: null,
};

function createPlaceholderMethods(): MethodGroup {
  return Object.fromEntries(Object.entries(constants).map(([name, value]) => [name, async () => value]));
}
