import type { z } from "zod";
import { chainId, httpUrl, webSocketUrl } from "#daemon/settings/types.ts";
import { defineSettings, section } from "#daemon/settings/settings.ts";
import { gatewayShape } from "./settings/gateway.ts";
import { listenSection, removedCertificate, referencesShape, rpcHealthShape } from "#health/settings.ts";

/** How to reach any EVM node. */
const nodeSection = section({
  httpUrl: httpUrl.describe("HTTP JSON-RPC endpoint of the node, such as http://127.0.0.1:8545"),
  webSocketUrl: webSocketUrl
    .optional()
    .describe("WebSocket JSON-RPC endpoint of the node; default: node.httpUrl with ws:// or wss://"),
  chainId: chainId.describe("Chain ID that the node must report"),
});

/** Settings that most deployments specify. */
const essentials = ["node.webSocketUrl", "public.port", "policyPath", "callers.trustedProxies"];

/** All settings of a standalone gateway (without a sidecar). Settings that a sidecar has too are in `settings/gateway.ts`. */
export const gatewaySettings = defineSettings(
  "gateway",
  essentials,
  {
    node: nodeSection,
    listen: listenSection,
    health: section(rpcHealthShape),
    lag: section(referencesShape),
    ...gatewayShape,
  },
  { certificate: removedCertificate },
);

/** The service's settings, parsed and frozen. */
export type GatewayAloneSettings = z.output<typeof gatewaySettings.schema>;
