import { z } from "zod";
import { filePath, positiveInteger } from "#daemon/settings/types.ts";
import { defineShutdown } from "#daemon/settings/common-settings.ts";
import { section, fixed } from "#daemon/settings/section.ts";
import { defineSettings } from "#daemon/settings/settings.ts";

const usual = ["engine", "listen.socketPath"];

/** Settings of the engine proxy: its engine, its one container, and the allowed calls. */
export const engineProxySettings = defineSettings("engine-proxy", usual, {
  engine: z
    .string()
    .regex(/^unix:\/\/\/.+$/)
    .default("unix:///var/run/docker.sock")
    .describe("Docker Engine socket")
    .meta({ expected: "unix:///path/of/the/socket" }),
  container: z
    .string()
    .regex(/^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,127}$/)
    .describe("Name of the only container that callers may inspect, restart and run the node's command-line tool in")
    .meta({ expected: "a container's name" }),
  nodeCli: z
    .string()
    .regex(/^[a-zA-Z0-9_.-]{1,64}$/)
    .default("node_cli")
    .describe("File name of the node's command-line tool, the only binary that may run in the container")
    .meta({ expected: "a file name" }),
  binDirectory: z
    .string()
    .regex(/^(\/[A-Za-z0-9_.-]+)+$/)
    .default("/data/bin")
    .describe("The only container directory the tool may run in; before v0.11 /data/<node>/domain/client/bin")
    .meta({ expected: "an absolute path inside the container" }),
  configArgument: z
    .string()
    .regex(/^[A-Za-z0-9_./][A-Za-z0-9_./-]*$/)
    .default("./node.conf")
    .describe("The only configuration file allowed for the tool's --c")
    .meta({ expected: "a path inside the container" }),
  shutdown: defineShutdown(5_000),
  listen: section({
    socketPath: filePath.default(".gatehouse/engine-proxy.sock").describe("Unix socket for callers"),
    /** Timeout for receiving a request. */
    requestTimeoutMs: fixed(5_000),
    /** Max request body size. */
    bodyLimitBytes: fixed(16_384),
    /** Max concurrent requests. */
    requestsInFlight: fixed(32),
  }),
  /** Timeout for the engine's complete response. */
  answerTimeoutMs: fixed(330_000),
  /** Max stop timeout that a caller may set on a restart: the sidecar's upper limit for `docker.stopTimeoutSeconds`. */
  stopTimeoutMaxSeconds: fixed(3_600),
  restartsPerHour: positiveInteger
    .max(3_600)
    .default(12)
    .describe(
      "Max container restarts per hour; set it above the sidecar's restart.budgetPerHour. Further restarts get 429",
    )
    .meta({ expected: "a whole number from 1 to 3600" }),
  /** Max runs of the node's command-line tool per minute. */
  execsPerMinute: fixed(60),
});

export type EngineProxySettings = z.output<typeof engineProxySettings.schema>;
