import type { Method } from "./method.ts";
import { defineNodeMethod, never, perHead, whileConnected } from "./method-parts.ts";

/** Specification, "Standard methods": the node's chain, height and sync status. */
export const clientMethods: readonly Method[] = [
  defineNodeMethod({
    name: "eth_blockNumber",
    summary: "Number of the latest block",
    params: [],
    result: "quantity",
    cache: perHead,
    costUnits: 10,
  }),
  defineNodeMethod({
    name: "eth_chainId",
    summary: "Chain id",
    params: [],
    result: "quantity",
    cache: whileConnected,
    whileBehind: true,
    costUnits: 1,
  }),
  defineNodeMethod({
    name: "eth_syncing",
    summary: "Sync status",
    params: [],
    result: "sync status object, or false",
    cache: never,
    whileBehind: true,
    costUnits: 5,
  }),
];
