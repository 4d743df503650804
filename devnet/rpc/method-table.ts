import { createBlockMethods } from "./block-methods.ts";
import { createExtensionMethods } from "./extension-methods.ts";
import { createFeeMethods } from "./fee-methods.ts";
import type { MethodTable, Node } from "./method.ts";
import { createNetworkMethods } from "./network-methods.ts";
import { createPlaceholderMethods } from "./placeholder-methods.ts";
import { createRawMethods } from "./raw-methods.ts";
import { createStateMethods } from "./state-methods.ts";
import { createSubscriptionMethods } from "./subscription-methods.ts";
import { createTraceMethods } from "./trace-methods.ts";

/**
 * Every method of the node (specification, "JSON-RPC interface"). What is not here, the four batch methods among it, is
 * METHOD_NOT_FOUND.
 */
export function createMethodTable(node: Node): MethodTable {
  const groups = [
    createFeeMethods(node),
    createBlockMethods(node),
    createStateMethods(node),
    createNetworkMethods(node),
    createRawMethods(node),
    createTraceMethods(node),
    createExtensionMethods(node),
    createPlaceholderMethods(),
    createSubscriptionMethods(),
  ];
  return new Map(groups.flatMap((group) => Object.entries(group)));
}
