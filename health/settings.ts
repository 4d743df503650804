import { z } from "zod";
import {
  allowedHosts,
  host,
  httpUrl,
  milliseconds,
  port,
  positiveInteger,
  seconds,
  yesOrNo,
} from "#daemon/settings/types.ts";
import { pageLinks } from "#daemon/http/page-links.ts";
import { section } from "#daemon/settings/settings.ts";
import { stackServices } from "#daemon/stack-services.ts";

/** Listener for health, metrics and status, and for a sidecar's page. */
export const listenSection = section({
  host: host.default("127.0.0.1").describe("Address of the health, metrics and status listener"),
  port: port.default(stackServices.sidecar.ports.status).describe("Port of the health, metrics and status listener"),
  allowedHosts,
  requestTimeoutMs: milliseconds.default(5_000).describe("How long a client may take to send a request"),
  pages: pageLinks,
});

/** Settings of the RPC watch of any node. */
export const rpcHealthShape = {
  intervalMs: milliseconds.default(1_000).describe("Time between two looks at the node's RPC"),
  timeoutMs: milliseconds.default(2_000).describe("How long the node may take to answer one look"),
  staleAfterMs: milliseconds
    .default(30_000)
    .describe(
      "Time without a new block from which it is reported; with lag.references that have one, the node is no longer fit for traffic",
    ),
  webSocket: yesOrNo.default(true).describe("Whether the WebSocket port is watched, too"),
  webSocketIntervalMs: milliseconds.default(5_000).describe("Time between two looks at the node's WebSocket"),
};

/** Settings of the watches of the sidecar's node: its RPC, and the disk with its data. */
export const healthSection = section({
  ...rpcHealthShape,
  diskFreeRatio: z
    .number()
    .min(0)
    .max(1)
    .default(0.1)
    .describe("Share of the data disk that has to be free, of its bytes and of its files (inodes)")
    .meta({ expected: "a number from 0 to 1" }),
  diskFullWithinSeconds: z
    .int()
    .min(0)
    .max(31_536_000)
    .default(86_400)
    .describe("Forecast time until the data disk is full below which it counts as wrong; 0: whatever is forecast")
    .meta({ expected: "seconds, a whole number from 0 to 31536000" }),
  diskForecastAfterSeconds: seconds
    .default(10_800)
    .describe("How long the data disk has to be seen before there is a forecast; what was seen outlasts restarts"),
});

/** Settings for comparing a node's height with other endpoints. */
export const referencesShape = {
  references: z
    .array(httpUrl)
    .max(8)
    .default([])
    .describe("JSON-RPC endpoints of the same chain whose height the node is compared with")
    .meta({ expected: "up to 8 http:// or https:// URLs, separated by commas" }),
  intervalMs: milliseconds.default(10_000).describe("Time between two looks at the reference endpoints"),
  maxBlocks: positiveInteger.default(50).describe("Lag in blocks from which the node counts as behind"),
};

/** The settings for comparing heights, and those for restarting a node that stalls or lags. */
export const lagSection = section({
  ...referencesShape,
  restart: yesOrNo
    .default(false)
    .describe(
      "Whether a node that stalls or lags for lag.restartAfterMs is restarted, within the budget; one that catches up is not",
    ),
  restartAfterMs: milliseconds
    .default(300_000)
    .describe("How long a node stalls, or is behind and comes no nearer to lag.references, before it is restarted"),
});

/** Replacement for the certificate watch, for operators who still set it. */
export const removedCertificate = "probe the public URL with Prometheus's blackbox exporter (docs/observability.md)";
