import type { Method } from "./method.ts";
import { account, never, nodeMethod, whileConnected } from "./method-parts.ts";

/** Specification, "Network, web3, pool methods", and the gateway's own description of itself. */
export const networkMethods: readonly Method[] = [
  nodeMethod({
    name: "net_version",
    summary: "Network id",
    params: [],
    result: "decimal string",
    cache: whileConnected,
    costUnits: 1,
  }),
  nodeMethod({
    name: "net_listening",
    summary: "Whether the node listens for peers",
    params: [],
    result: "true",
    audience: "private",
    cache: never,
    costUnits: 1,
  }),
  nodeMethod({
    name: "net_peerCount",
    summary: "Number of the node's peers",
    params: [],
    result: "quantity",
    audience: "private",
    cache: never,
    costUnits: 5,
  }),
  nodeMethod({
    name: "web3_clientVersion",
    summary: "Client and version of the node",
    params: [],
    result: "string",
    cache: whileConnected,
    costUnits: 1,
  }),
  nodeMethod({
    name: "web3_sha3",
    summary: "Keccak-256 hash of data",
    params: [{ name: "data", shape: "data" }],
    result: "hash",
    audience: "private",
    cache: never,
    costUnits: 10,
  }),
  nodeMethod({
    name: "txpool_nonceFrom",
    summary: "Next nonce of an account, from the pool",
    params: [account],
    result: "quantity",
    audience: "private",
    cache: never,
    costUnits: 15,
  }),
  {
    name: "rpc.discover",
    summary: "OpenRPC document of the methods that the caller's listener has",
    params: [],
    result: "OpenRPC document",
    audience: "public",
    answeredBy: "gateway",
    cache: never,
    costUnits: 20,
    timeoutMs: 10_000,
  },
];
