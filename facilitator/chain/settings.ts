import { z } from "zod";
import { chainId, httpUrl, milliseconds, positiveInteger, webSocketUrl, yesOrNo } from "#daemon/settings/types.ts";
import { section } from "#daemon/settings/settings.ts";
import { stackServices } from "#daemon/stack-services.ts";

/** Settings of the chain that payments are settled on, and of its nodes. */
export const chain = section({
  id: chainId.default(1_672).describe("Chain that payments are settled on, eip155:<id>"),
  rpcUrl: httpUrl
    .default(`http://127.0.0.1:${stackServices.node.ports.http}`)
    .describe("JSON-RPC endpoint of the chain's node"),
  fallbackRpcUrls: z
    .array(httpUrl)
    .max(8)
    .default([])
    .describe("Nodes of the same chain, in order: the first that responds is used while rpcUrl does not")
    .meta({ expected: "a list of http:// or https:// URLs" }),
  webSocketUrl: webSocketUrl
    .optional()
    .describe("WebSocket endpoint of the same node; newHeads then announces a block before the next poll does"),
  rpcTimeoutMs: milliseconds
    .default(30_000)
    .describe("How long the node may take to answer a call, from when it is made"),
  batchCallsMax: positiveInteger
    .max(1_000)
    .optional()
    .describe("Most calls in one batch to the node. Default: as many as the nodes of chain.id take, else 100"),
  chargesGasLimit: yesOrNo
    .optional()
    .describe(
      "Whether the chain charges a transaction's whole gas limit, used or not; metrics count that. Default: as is known of chain.id",
    ),
  nativeDecimals: z
    .int()
    .min(0)
    .max(30)
    .default(18)
    .describe("Decimals of the chain's native currency, in which the signer pays for gas")
    .meta({ expected: "a whole number from 0 to 30" }),
});
