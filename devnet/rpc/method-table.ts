import { blockMethods } from "./block-methods.ts";
import { extensionMethods } from "./extension-methods.ts";
import { feeMethods } from "./fee-methods.ts";
import type { MethodTable, Node } from "./method.ts";
import { networkMethods } from "./network-methods.ts";
import { placeholderMethods } from "./placeholder-methods.ts";
import { rawMethods } from "./raw-methods.ts";
import { stateMethods } from "./state-methods.ts";
import { subscriptionMethods } from "./subscription-methods.ts";
import { traceMethods } from "./trace-methods.ts";

/**
 * Every method of the node (specification, "JSON-RPC interface"). What is not here, the four batch methods among it, is
 * METHOD_NOT_FOUND.
 */
export function createMethodTable(node: Node): MethodTable {
  const groups = [
    feeMethods(node),
    blockMethods(node),
    stateMethods(node),
    networkMethods(node),
    rawMethods(node),
    traceMethods(node),
    extensionMethods(node),
    placeholderMethods(),
    subscriptionMethods(),
  ];
  return new Map(groups.flatMap((group) => Object.entries(group)));
}
