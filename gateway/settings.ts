import type { z } from "zod";
import { chainId, httpUrl, webSocketUrl } from "#daemon/settings/types.ts";
import { section } from "#daemon/settings/section.ts";
import { defineSettings } from "#daemon/settings/settings.ts";
import { gatewayFields } from "./settings/sections.ts";
import { referencesShape, rpcHealthShape } from "#health/settings.ts";
import { listenSection } from "#status/listen-settings.ts";

const nodeSection = section({
  httpUrl: httpUrl.describe("HTTP JSON-RPC endpoint of the node, such as http://127.0.0.1:8545"),
  webSocketUrl: webSocketUrl
    .optional()
    .describe("WebSocket JSON-RPC endpoint of the node; default: node.httpUrl with ws:// or wss://"),
  chainId: chainId.describe("Chain ID that the node must report"),
});

const commonSettings = ["node.webSocketUrl", "public.port", "policyPath", "callers.trustedProxies", "callers.keysPath"];

/** All settings of a standalone gateway (without a sidecar). Settings that a sidecar has too are in `settings/sections.ts`. */
export const gatewaySettings = defineSettings("gateway", commonSettings, {
  node: nodeSection,
  listen: listenSection,
  health: section(rpcHealthShape),
  lag: section(referencesShape),
  ...gatewayFields,
});

export type StandaloneGatewaySettings = z.output<typeof gatewaySettings.schema>;
