import { z } from "zod";
import { defineSettings } from "#daemon/settings/settings.ts";
import { gatewaySection } from "#gateway/settings/sections.ts";
import { healthSection, lagSection } from "#health/settings.ts";
import { listenSection } from "#status/listen-settings.ts";
import { composeSection, dockerSection, kubernetesSection, opsSection } from "./settings/drivers.ts";
import { monitorSection, nodeCliSection, pruneSection, restartSection, upkeepSection } from "./settings/upkeep.ts";
import {
  positiveInteger,
  filePath,
  httpUrl,
  milliseconds,
  yesOrNo,
  chainId,
  webSocketUrl,
} from "#daemon/settings/types.ts";
import { section, fixed } from "#daemon/settings/section.ts";
import { defaultPorts } from "#daemon/default-ports.ts";
import { nodeFamilies } from "#node/families.ts";
import { nodeVersion } from "#node/version-setting.ts";

export const nodeSection = section({
  workspace: filePath.optional().describe("Workspace directory of the node, with its binaries and files"),
  family: z
    .enum(nodeFamilies.map(({ name }) => name))
    .optional()
    .describe(
      "Node family, which determines the names of binaries and files; default: detected from the binaries or configuration file",
    )
    .meta({ expected: nodeFamilies.map(({ name }) => name).join(" or ") }),
  nodeDirectory: z
    .string()
    .min(1)
    .optional()
    .describe("Node directory inside the workspace in the layout before v0.11; default: by family, e.g. node")
    .meta({ expected: "a directory name inside the workspace" }),
  binDirectory: filePath
    .optional()
    .describe("Directory with node_cli and ops; default: <workspace>/bin, before v0.11 <node>/domain/client/bin"),
  configPath: filePath
    .optional()
    .describe("Configuration file of the node; default: by family, e.g. node.conf in the bin directory"),
  dataPath: filePath
    .optional()
    .describe("Directory whose disk is monitored; default: storage.mygrid_env.storage_data_path in the configuration"),
  version: nodeVersion
    .optional()
    .describe("Node version; default: as reported by debug_protocolVersion, node_cli or the image"),
  clientName: z
    .string()
    .regex(/^[\w.-]{1,100}$/)
    .optional()
    .describe("Required prefix of web3_clientVersion for using the version after it, if no other source reports one")
    .meta({ expected: "the word before the first slash of the node's web3_clientVersion" }),
  image: z
    .string()
    .min(1)
    .optional()
    .describe("Container image of the node; its tag determines the version if no other source reports one")
    .meta({ expected: "an image reference such as registry/node:0.16.2" }),
  httpUrl: httpUrl.default(`http://127.0.0.1:${defaultPorts.node.http}`).describe("HTTP JSON-RPC endpoint of the node"),
  webSocketUrl: webSocketUrl
    .default(`ws://127.0.0.1:${defaultPorts.node.webSocket}`)
    .describe("WebSocket JSON-RPC endpoint of the node"),
  environment: z
    .array(z.string().regex(/^(?!GATEHOUSE_)[A-Za-z_]\w*$/))
    .max(64)
    .default([])
    .describe(
      "Environment variables that the sidecar passes to the ops and compose commands, node_cli and any node they start, besides PATH, HOME, USER, LOGNAME, SHELL, LANG, LC_*, TZ and TMPDIR, and for compose DOCKER_*, COMPOSE_*, XDG_RUNTIME_DIR and SSH_AUTH_SOCK",
    )
    .meta({ expected: "names of variables, none of which begins with GATEHOUSE_, separated by commas" }),
  chainId: chainId.default(1672).describe("Chain ID that the node must report"),
});

/** The Pushgateway that the node pushes to, at an address that the sidecar can reach. The sidecar checks whether metrics arrive. */
export const pushgatewaySection = section({
  url: httpUrl.optional().describe("Pushgateway to check for the node's metrics; default: no check"),
  /** Age of the last push from which metrics count as missing, or three push intervals if that is more. */
  staleAfterMs: fixed(60_000),
  timeoutMs: fixed(3_000),
  responseLimitBytes: fixed(16_777_216),
});

export const upgradeSection = section({
  keepSnapshot: yesOrNo
    .default(false)
    .describe("Whether to retain the data copy after the new version is verified; it uses disk space until removed"),
  copyTimeoutMs: milliseconds
    .default(3_600_000)
    .describe("Timeout for copying the data while the node is stopped; the upgrade is then rolled back"),
  releasesPath: filePath
    .optional()
    .describe(
      "JSON5 file with a list of releases, [{version, minVersionAt: height, commit, note}], or a fork schedule in VERSION format; used to check whether the running version is recent enough for the chain, and to recognize release commits. Hot-reloaded",
    ),
  releasesUrl: httpUrl
    .optional()
    .describe(
      "URL of such a list as JSON, fetched hourly in addition to the file; the last valid list is cached in the state directory",
    ),
  epochZeroMs: z
    .int()
    .min(0)
    .optional()
    .describe(
      "Start time of the chain's epoch 0, used to compute fork times; default: that of the family's main network",
    )
    .meta({ expected: "milliseconds since 1970" }),
  /** How long before a height or epoch that requires a newer version the warning starts. */
  warnBeforeSeconds: fixed(604_800),
});

/** Growth of the node's volume on Kubernetes, through its PersistentVolumeClaim. Without a claim, the volume does not grow. */
export const volumeSection = section({
  claim: z
    .string()
    .min(1)
    .optional()
    .describe("PersistentVolumeClaim of the node's data, which grows as it fills; default: no growth")
    .meta({ expected: "a claim's name" }),
  /** Free ratio of the volume below which it grows. */
  growBelowFreeRatio: fixed(0.15),
  stepGibibytes: positiveInteger.max(65_536).default(100).describe("Growth step in GiB").meta({ needs: "claim" }),
  ceilingGibibytes: positiveInteger
    .max(1_048_576)
    .default(2_000)
    .describe("Max volume size in GiB")
    .meta({ needs: "claim" }),
  /** Min time between resizes; some providers allow only one in six hours. */
  pauseMs: fixed(21_600_000),
  intervalMs: fixed(60_000),
});

const commonSettings = ["node.workspace", "node.httpUrl", "node.chainId", "restart.driver", "gateway.public.port"];

/** All settings for one node's sidecar: the node, its desired state, and how to reach it. Each section is in `settings/`. */
export const sidecarSettings = defineSettings("sidecar", commonSettings, {
  listen: listenSection,
  node: nodeSection,
  pushgateway: pushgatewaySection,
  upkeep: upkeepSection,
  monitor: monitorSection,
  prune: pruneSection,
  nodeCli: nodeCliSection,
  restart: restartSection,
  ops: opsSection,
  compose: composeSection,
  docker: dockerSection,
  kubernetes: kubernetesSection,
  volume: volumeSection,
  upgrade: upgradeSection,
  health: healthSection,
  lag: lagSection,
  gateway: gatewaySection,
});

export type SidecarSettings = z.output<typeof sidecarSettings.schema>;
