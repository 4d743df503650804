import { z } from "zod";
import { chainId, httpUrl, positiveInteger, yesOrNo } from "#daemon/settings/types.ts";
import { address } from "#x402/address.ts";
import { fixed, section } from "#daemon/settings/section.ts";
import { defaultPorts } from "#daemon/default-ports.ts";

export const chain = section({
  id: chainId.default(1_672).describe("Chain on which payments are settled, eip155:<id>"),
  rpcUrl: httpUrl
    .default(`http://127.0.0.1:${defaultPorts.node.http}`)
    .describe("JSON-RPC endpoint of the chain's node"),
  fallbackRpcUrls: z
    .array(httpUrl)
    .max(8)
    .default([])
    .describe("Fallback nodes for the same chain, in order of preference; used while rpcUrl does not respond")
    .meta({ expected: "a list of http:// or https:// URLs" }),
  /** Timeout for one call to the node, including time queued. */
  rpcTimeoutMs: fixed(30_000),
  batchCallsMax: positiveInteger
    .max(1_000)
    .optional()
    .describe("Max calls per batch to the node. Default: the limit of the nodes for chain.id if known, else 100"),
  chargesGasLimit: yesOrNo
    .optional()
    .describe(
      "Whether the chain charges the whole gas limit of a transaction, used or not; metrics account for it. Default: known from chain.id",
    ),
  walletFactories: z
    .array(address)
    .max(100)
    .default([])
    .describe(
      "Factories that settlements call to create a payer's wallet (ERC-6492); a payment with another factory is rejected, because a factory may make the signer pay for anything",
    )
    .meta({ expected: "a list of addresses" }),
});

/** Chain settings of an additional network, whose chain and node have no default. */
export const networkChainSchema = z.strictObject({ ...chain.unwrap().shape, id: chainId, rpcUrl: httpUrl });
