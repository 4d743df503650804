import { z } from "zod";
import { filePath, milliseconds, nonNegativeInteger, port, seconds, yesOrNo } from "#daemon/settings/types.ts";
import { secret } from "#daemon/secrets/secret.ts";
import { section, fixed } from "#daemon/settings/section.ts";
import { cronExpression, timeZone } from "#daemon/settings/cron.ts";
import { configLimitBytes } from "#node/conf/problem.ts";

export const upkeepSection = section({
  mode: z
    .enum(["adopt", "enforce", "observe"])
    .default("adopt")
    .describe(
      "adopt: observe and show the plan until `gatehouse adopt` is run once for this node, then reconcile; enforce: reconcile immediately; observe: change nothing and report everything",
    )
    .meta({ expected: "adopt, enforce or observe" }),
  stateDirectory: filePath
    .optional()
    .describe(
      "Directory for saved versions of node.conf, the restart budget, the pause and events of this node; default: .gatehouse in the node's workspace, or the user's state directory if that is not writable",
    ),
  commandPrefix: z
    .string()
    .min(1)
    .max(500)
    .optional()
    .describe(
      "Command prefix for gatehouse next to this sidecar, e.g. docker exec sidecar node /app/cli/gatehouse.js; shown in messages; default: the sidecar's own binary",
    )
    .meta({ expected: "the beginning of a shell command" }),
  controlToken: secret(
    z
      .string()
      .regex(/^[\w.~+/-]{32,}=*$/)
      .meta({ expected: "32 characters or more: letters, digits and . _ ~ + / - (RFC 6750)" }),
  )
    .optional()
    .describe(
      "Token for gatehouse resume, restart, adopt, upgrade and restore with --url, and for the status page's buttons; without it there are no buttons, and commands work only through the socket in the state directory",
    ),
  /** Interval for rereading node.conf without file events. */
  rereadIntervalMs: fixed(5_000),
  restoreAfterMs: nonNegativeInteger
    .max(86_400_000)
    .default(60_000)
    .describe("How long node.conf may be unusable and unchanged before the last good version is restored; 0: never")
    .meta({ expected: "milliseconds, a whole number from 0 to 86400000" }),
  /** Duration from which a node check and its reconcile count as hung. */
  passDeadlineMs: fixed(30_000),
  /** Time in which the file systems of node.conf and the state directory must respond before they count as hung. */
  fileTimeoutMs: fixed(5_000),
  configLimitBytes: fixed(configLimitBytes),
});

/** The desired `chain.monitor_config`. An unset setting leaves the file's value unchanged, under whichever naming it has. */
export const monitorSection = section({
  enabled: yesOrNo.default(true).describe("Whether the node pushes metrics"),
  jobName: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe("Metrics job name, unique per node; default: from the file, else from host and data path")
    .meta({ expected: "a name of 1 to 200 characters" }),
  pushAddress: z
    .string()
    .regex(/^(?!.*:\/\/)[^\s/]+$/)
    .optional()
    .describe("Host or IP of the Pushgateway, without protocol; default: from the file, else from pushgateway.url")
    .meta({ expected: "a host name or IP address without protocol, port or path" }),
  pushPort: port
    .min(1)
    .optional()
    .describe("Port of the Pushgateway; default: from the file, else from pushgateway.url"),
  pushIntervalSeconds: seconds.optional().describe("Push interval in seconds; default: from the file, else 10"),
});

export const pruneSection = section({
  enabled: yesOrNo
    .default(true)
    .describe("Whether auto-pruning should be on; false leaves it unchanged and reports it"),
  /** Interval between queries of the pruning settings. */
  intervalMs: fixed(30_000),
  /** Time without progress, while blocks advance, from which pruning counts as stalled. */
  stalledAfterMs: fixed(600_000),
});

export const nodeCliSection = section({
  command: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Name of the node's command-line tool in the bin directory, or a path; default: by node family, e.g. node_cli",
    )
    .meta({ expected: "a file name or path" }),
  runner: z
    .enum(["auto", "local", "compose", "docker", "kubernetes", "none"])
    .default("auto")
    .describe(
      "Where the tool runs; auto: in the container for the compose, docker and kubernetes drivers, else on this machine",
    )
    .meta({ expected: "auto, local, compose, docker, kubernetes or none" }),
  containerBinDirectory: z
    .string()
    .startsWith("/")
    .optional()
    .describe(
      "Bin directory inside the node's container; default: /data/bin, before v0.11 /data/<node>/domain/client/bin",
    )
    .meta({ expected: "an absolute path inside the container" }),
  configArgument: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Value for --c (v0.11 and later); default: the configuration file's path, in a container by node family, e.g. ./node.conf",
    )
    .meta({ expected: "a path" }),
  timeoutMs: fixed(10_000),
  outputLimitBytes: fixed(65_536),
});

export const restartSection = section({
  driver: z
    .enum(["ops", "compose", "docker", "kubernetes", "none"])
    .default("ops")
    .describe("Restart driver; none: never restart, only report a condition when a restart is due")
    .meta({ expected: "ops, compose, docker, kubernetes or none" }),
  budgetPerHour: nonNegativeInteger
    .max(3_600)
    .default(6)
    .describe("Max restarts per hour; preserved across sidecar restarts")
    .meta({ expected: "a whole number from 0 to 3600" }),
  /** Changes within this time are combined into one restart. */
  settleMs: fixed(200),
  timeoutMs: milliseconds.default(360_000).describe("Timeout for the restart command"),
  answersWithinMs: milliseconds
    .default(600_000)
    .describe("How long a node may take from its start until its RPC responds, for example because it replays its log"),
  healthyWithinMs: milliseconds
    .default(120_000)
    .describe("Time from the first response after a restart within which the node's height must advance"),
  /** Time after `healthyWithinMs` within which metrics must reach the Pushgateway, if one is configured. */
  metricsWithinMs: fixed(120_000),
  hungAfterMs: nonNegativeInteger
    .max(86_400_000)
    .default(0)
    .describe(
      "How long a node that has responded since its start may be unresponsive before the docker or kubernetes driver restarts it; 0: never",
    )
    .meta({ expected: "milliseconds, a whole number from 0 to 86400000" }),
  maintenanceCron: cronExpression
    .optional()
    .describe("Cron expression for the start of maintenance windows; deferrable restarts run only inside them"),
  maintenanceMs: milliseconds
    .default(3_600_000)
    .describe("Duration of a maintenance window")
    .meta({ needs: "maintenanceCron" }),
  maintenanceTimeZone: timeZone
    .default("UTC")
    .describe("Time zone of the cron expression")
    .meta({ needs: "maintenanceCron" }),
});
