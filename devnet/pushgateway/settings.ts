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
      host: host.default("127.0.0.1").describe("Address that the Pushgateway listens on"),
      port: port.default(stackServices.pushgateway.ports.http).describe("Port that the Pushgateway listens on"),
      requestTimeoutMs: milliseconds.default(10_000).describe("How long a client may take to send a request"),
      bodyLimitBytes: bytes.default(4_194_304).describe("Larger pushes are answered 413"),
    }),
    implementation: z
      .enum(["auto", "stand-in"])
      .default("auto")
      .describe("auto: the real Pushgateway where it is on PATH, else the stand-in; stand-in: always that")
      .meta({ expected: "auto or stand-in" }),
    program: z
      .string()
      .min(1)
      .default("prometheus-pushgateway")
      .describe("Name of the real Pushgateway's program on PATH")
      .meta({ expected: "a program's name" }),
    persistenceFile: filePath
      .optional()
      .describe("File in which the real Pushgateway keeps metrics; default: in memory"),
  },
  { limits: "the stand-in has fixed limits" },
);
