import { z } from "zod";
import { defineSettings, section } from "#daemon/settings/settings.ts";
import { bytes, filePath, host, milliseconds, port } from "#daemon/settings/types.ts";
import { stackServices } from "#daemon/stack-services.ts";

/** Settings that most deployments set. */
const essentials = ["listen.port", "implementation"];

/** Settings of the Pushgateway. */
export const pushgatewaySettings = defineSettings(
  "pushgateway",
  essentials,
  {
    listen: section({
      host: host.default("127.0.0.1").describe("Listen address of the Pushgateway"),
      port: port.default(stackServices.pushgateway.ports.http).describe("Listen port of the Pushgateway"),
      requestTimeoutMs: milliseconds.default(10_000).describe("Timeout for receiving a request"),
      bodyLimitBytes: bytes.default(4_194_304).describe("Max push size; larger pushes get 413"),
    }),
    implementation: z
      .enum(["auto", "stand-in"])
      .default("auto")
      .describe("auto: the real Pushgateway if it is on PATH, otherwise the stand-in; stand-in: always the stand-in")
      .meta({ expected: "auto or stand-in" }),
    program: z
      .string()
      .min(1)
      .default("prometheus-pushgateway")
      .describe("Name of the real Pushgateway's binary on PATH")
      .meta({ expected: "a program's name" }),
    persistenceFile: filePath
      .optional()
      .describe("File in which the real Pushgateway persists metrics; default: in memory only"),
  },
  { limits: "the stand-in has fixed limits" },
);
