import { z } from "zod";
import { bytes, filePath, milliseconds, nonNegativeInteger, port, seconds, yesOrNo } from "#daemon/settings/types.ts";
import { secret } from "#daemon/secrets/secret.ts";
import { section } from "#daemon/settings/settings.ts";
import { cronExpression, timeZone } from "#daemon/settings/cron.ts";

/** Upkeep of the node's configuration. */
export const upkeepSection = section({
  mode: z
    .enum(["adopt", "enforce", "observe"])
    .default("adopt")
    .describe(
      "adopt: observe and show the plan until `gatehouse adopt` is run once for this node, then bring it to what is desired; " +
        "enforce: do so at once; observe: change nothing and report everything",
    )
    .meta({ expected: "adopt, enforce or observe" }),
  stateDirectory: filePath
    .optional()
    .describe(
      "Directory for kept versions of node.conf, the restart budget, the hold and events of this one node; default: .gatehouse in the " +
        "node's workspace, where that can't be written the user's state directory",
    ),
  movedFrom: z
    .array(z.string().min(1))
    .max(8)
    .default([])
    .describe(
      "When the same node was moved while the sidecar was down: its former data path, node.conf, chain id and container, as far as the refusal " +
        "names them",
    )
    .meta({ expected: "paths, chain id and name before the move, separated by commas" }),
  commandPrefix: z
    .string()
    .min(1)
    .max(500)
    .optional()
    .describe(
      "How a person reaches the command next to this sidecar, e.g. docker exec sidecar node /app/cli/gatehouse.js; messages show it; " +
        "default: the sidecar's own program",
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
      "Token for gatehouse resume, restart, adopt, upgrade and restore by --url, and for the buttons of the status page; without it there are no buttons, and the commands work only through the socket in the state directory",
    ),
  rereadIntervalMs: milliseconds.default(5_000).describe("Time between two reads of node.conf when no event comes"),
  restoreAfterMs: nonNegativeInteger
    .max(86_400_000)
    .default(60_000)
    .describe("How long node.conf may be unusable and unchanged before the last good one is written back; 0: never")
    .meta({ expected: "milliseconds, a whole number from 0 to 86400000" }),
  passDeadlineMs: milliseconds
    .default(30_000)
    .describe("Time from which one look at the node and what follows of it counts as hanging"),
  fileTimeoutMs: milliseconds
    .default(5_000)
    .describe(
      "How long the file systems of node.conf and of the state may take to answer before they count as hanging",
    ),
  configLimitBytes: bytes
    .default(65_536)
    .describe(
      "Largest node.conf that is read; one of a real node has 2.5 KB, and a larger one may take seconds to read",
    ),
  json5: z
    .enum(["refuse", "rewrite"])
    .default("refuse")
    .describe(
      "What is done with a node.conf in JSON5, which can't be edited in place: refuse, or rewrite without comments",
    )
    .meta({ expected: "refuse or rewrite" }),
});

/** The desired `chain.monitor_config`. An unset setting leaves the file's value, under any naming. */
export const monitorSection = section({
  enabled: yesOrNo.default(true).describe("Whether the node pushes metrics"),
  jobName: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe("Job name of the node's metrics, unique per node; default: from the file, else from host and data path")
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
  pushIntervalSeconds: seconds.optional().describe("Seconds between two pushes; default: from the file, else 10"),
});

/** The desired pruning. */
export const pruneSection = section({
  enabled: yesOrNo.default(true).describe("Whether auto-pruning is to be on; false leaves it as it is and reports it"),
  intervalMs: milliseconds.default(30_000).describe("Time between two queries of the pruning settings"),
  stalledAfterMs: milliseconds
    .default(600_000)
    .describe("Time without progress, while blocks advance, from which pruning counts as stalled"),
});

/** The node's command-line tool. */
export const nodeCliSection = section({
  command: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Name of the node's command-line tool in the bin directory, or a path; default: by the node's family, e.g. node_cli",
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
      "What --c is given (v0.11 and later); default: the configuration file's path, in a container by the node's family, e.g. ./node.conf",
    )
    .meta({ expected: "a path" }),
  timeoutMs: milliseconds.default(10_000).describe("How long one run of the tool may take"),
  outputLimitBytes: bytes.default(65_536).describe("Output of the tool from which its run is ended"),
});

/** Restarts of the node: how, when and how often. */
export const restartSection = section({
  driver: z
    .enum(["ops", "compose", "docker", "kubernetes", "none"])
    .default("ops")
    .describe("How the node is restarted; none: never, a condition says when one is due")
    .meta({ expected: "ops, compose, docker, kubernetes or none" }),
  budgetPerHour: nonNegativeInteger
    .max(3_600)
    .default(6)
    .describe("Restarts allowed in any hour; kept over restarts of the sidecar")
    .meta({ expected: "a whole number from 0 to 3600" }),
  settleMs: milliseconds.default(200).describe("Changes that come within this time become one restart"),
  timeoutMs: milliseconds.default(360_000).describe("How long the restart command may take"),
  answersWithinMs: milliseconds
    .default(600_000)
    .describe("How long a node may take after its start until its RPC answers, because it replays its log, say"),
  healthyWithinMs: milliseconds
    .default(120_000)
    .describe("Time after the first answer since a restart in which the node's height has to advance"),
  metricsWithinMs: milliseconds
    .default(120_000)
    .describe("Time after that in which metrics have to arrive at the Pushgateway, if it is checked"),
  hungAfterMs: nonNegativeInteger
    .max(86_400_000)
    .default(0)
    .describe(
      "How long a node that has answered since its start may give no answer before the docker or kubernetes driver restarts it; 0: never",
    )
    .meta({ expected: "milliseconds, a whole number from 0 to 86400000" }),
  checkCommand: z
    .array(z.string().min(1))
    .min(1)
    .max(32)
    .optional()
    .describe(
      "Command that ends with status 0 if the node can start with node.conf, run in the bin directory before the node is restarted for a change " +
        "that somebody else made; default: none, only what gatehouse lint finds speaks against it",
    )
    .meta({ expected: 'a command and its arguments as a list, e.g. ["./node","--check","./node.conf"]' }),
  maintenanceCron: cronExpression
    .optional()
    .describe("Cron expression of the maintenance windows' starts; restarts that can wait happen only inside"),
  maintenanceMs: milliseconds.default(3_600_000).describe("Length of a maintenance window"),
  maintenanceTimeZone: timeZone.default("UTC").describe("Time zone of the cron expression"),
});
