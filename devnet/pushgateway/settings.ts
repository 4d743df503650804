import { z } from "zod";
import { defineShutdown } from "#daemon/settings/common-settings.ts";
import { section, fixed } from "#daemon/settings/section.ts";
import { defineSettings } from "#daemon/settings/settings.ts";
import { filePath, host, port } from "#daemon/settings/types.ts";
import { defaultPorts } from "#daemon/default-ports.ts";

const usual = ["listen.port", "implementation", "persistenceFile"];

export const pushgatewaySettings = defineSettings("pushgateway", usual, {
  listen: section({
    host: host.default("127.0.0.1").describe("Listen address of the Pushgateway"),
    port: port.default(defaultPorts.pushgateway.http).describe("Listen port of the Pushgateway"),
    /** Timeout for receiving a request. */
    requestTimeoutMs: fixed(10_000),
    bodyLimitBytes: fixed(4_194_304),
  }),
  shutdown: defineShutdown(5_000),
  implementation: z
    .enum(["auto", "stand-in"])
    .default("auto")
    .describe("auto: the real Pushgateway if it is on PATH, otherwise the stand-in; stand-in: always the stand-in")
    .meta({ expected: "auto or stand-in" }),
  persistenceFile: filePath
    .optional()
    .describe("File in which the real Pushgateway persists metrics; default: in memory only"),
});
