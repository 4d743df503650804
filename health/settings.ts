import { z } from "zod";
import { httpUrl, milliseconds, positiveInteger, yesOrNo } from "#daemon/settings/types.ts";
import { section, fixed } from "#daemon/settings/section.ts";

export const rpcHealthShape = {
  intervalMs: milliseconds.default(1_000).describe("Interval between RPC health checks"),
  timeoutMs: milliseconds.default(2_000).describe("Timeout for one health check"),
  staleAfterMs: milliseconds
    .default(30_000)
    .describe(
      "Time without a new block until it is reported; if lag.references have newer blocks, the node becomes unready",
    ),
  webSocket: yesOrNo.default(true).describe("Enables WebSocket health checks"),
  /** Interval between WebSocket health checks. */
  webSocketIntervalMs: fixed(5_000),
  /** Event loop delays that callers notice: a single one, and the share of the last 10 seconds. */
  loopDelayMs: fixed(1_000),
  loopDelayShare: fixed(0.2),
};

/** Settings for the watches on the sidecar's node: its RPC, and the disk that holds its data. */
export const healthSection = section({
  ...rpcHealthShape,
  diskFreeRatio: z
    .number()
    .min(0)
    .max(1)
    .default(0.1)
    .describe("Min free ratio of the data disk, for bytes and inodes")
    .meta({ expected: "a number from 0 to 1" }),
  /** Min forecast time until the data disk is full. */
  diskFullWithinSeconds: fixed(86_400),
  /** Min observation time for a data disk forecast. */
  diskForecastAfterSeconds: fixed(10_800),
});

export const referencesShape = {
  references: z
    .array(httpUrl)
    .max(8)
    .default([])
    .describe("JSON-RPC endpoints of the same chain to compare the node's height with")
    .meta({ expected: "up to 8 http:// or https:// URLs, separated by commas" }),
  /** Interval between checks of the reference endpoints. */
  intervalMs: fixed(10_000),
  maxBlocks: positiveInteger.default(50).describe("Lag in blocks from which the node counts as behind"),
};

/** The settings for comparing heights and for restarting a node that stalls or lags. */
export const lagSection = section({
  ...referencesShape,
  restart: yesOrNo
    .default(false)
    .describe(
      "Whether to restart a node that stalls or lags for lag.restartAfterMs, within the budget; a node that is catching up is not restarted",
    ),
  restartAfterMs: milliseconds
    .default(300_000)
    .describe("How long a node may stall, or lag behind lag.references without catching up, before it is restarted")
    .meta({ needs: "restart" }),
});
