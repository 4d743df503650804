import { z } from "zod";
import { bytes, filePath, milliseconds, positiveInteger } from "#daemon/settings/types.ts";
import { defineSettings, section } from "#daemon/settings/settings.ts";

/** Settings that most deployments set. */
const essentials = ["engine", "listen.socketPath"];

/** Settings of the engine proxy: its engine, its one container, and the allowed calls. */
export const engineProxySettings = defineSettings("engine-proxy", essentials, {
  engine: z
    .string()
    .regex(/^unix:\/\/\/.+$/)
    .default("unix:///var/run/docker.sock")
    .describe("The Docker Engine's own socket")
    .meta({ expected: "unix:///path/of/the/socket" }),
  container: z
    .string()
    .regex(/^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,127}$/)
    .describe("Name of the one container that callers may inspect, restart and run the node's command-line tool in")
    .meta({ expected: "a container's name" }),
  nodeCli: z
    .string()
    .regex(/^[a-zA-Z0-9_.-]{1,64}$/)
    .default("node_cli")
    .describe("File name of the node's command-line tool, the only program that is run in the container")
    .meta({ expected: "a file name" }),
  binDirectory: z
    .string()
    .regex(/^(\/[A-Za-z0-9_.-]+)+$/)
    .default("/data/bin")
    .describe(
      "The only directory of the container that the tool is run in; before v0.11 /data/<node>/domain/client/bin",
    )
    .meta({ expected: "an absolute path inside the container" }),
  configArgument: z
    .string()
    .regex(/^[A-Za-z0-9_./][A-Za-z0-9_./-]*$/)
    .default("./node.conf")
    .describe("The only configuration file that the tool's --c may name")
    .meta({ expected: "a path inside the container" }),
  listen: section({
    socketPath: filePath.default(".gatehouse/engine-proxy.sock").describe("Unix socket that callers use"),
    requestTimeoutMs: milliseconds.default(5_000).describe("How long a caller may take to send a request"),
    bodyLimitBytes: bytes.default(16_384).describe("Largest request body"),
    requestsInFlight: positiveInteger.default(32).describe("Most requests at one time; more are answered 503"),
  }),
  answerTimeoutMs: milliseconds.default(330_000).describe("How long the engine may take to give its whole answer"),
  stopTimeoutMaxSeconds: z
    .int()
    .min(0)
    .max(3_600)
    .default(300)
    .describe("Longest stop timeout that a caller may request at a restart")
    .meta({ expected: "seconds, a whole number from 0 to 3600" }),
  restartsPerHour: positiveInteger
    .max(3_600)
    .default(12)
    .describe(
      "Most restarts of the container in any hour, more than the sidecar's own restart.budgetPerHour; more are answered 429",
    )
    .meta({ expected: "a whole number from 1 to 3600" }),
  execsPerMinute: positiveInteger
    .max(3_600)
    .default(60)
    .describe("Most runs of the node's command-line tool in any minute; more are answered 429")
    .meta({ expected: "a whole number from 1 to 3600" }),
});

/** The engine proxy's settings, parsed. */
export type EngineProxySettings = z.output<typeof engineProxySettings.schema>;
