import { z } from "zod";
import { chainId, filePath, httpUrl, milliseconds, webSocketUrl } from "#daemon/settings/types.ts";
import { section } from "#daemon/settings/settings.ts";
import { stackServices } from "#daemon/stack-services.ts";
import { nodeFamilies } from "#node/families.ts";
import { nodeVersion } from "#node/version-setting.ts";

/** The node: its paths and how to reach its RPC. */
export const nodeSection = section({
  workspace: filePath.optional().describe("Workspace directory of the node; its programs and files are found in it"),
  family: z
    .enum(nodeFamilies.map(({ name }) => name))
    .optional()
    .describe(
      "Family of the node, which names its programs and files; default: the one whose programs or configuration file are there",
    )
    .meta({ expected: nodeFamilies.map(({ name }) => name).join(" or ") }),
  nodeDirectory: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Directory of the node inside the workspace in the layout before v0.11; default: by its family, e.g. node",
    )
    .meta({ expected: "a directory name inside the workspace" }),
  binDirectory: filePath
    .optional()
    .describe("Directory of node_cli and ops; default: <workspace>/bin, before v0.11 <node>/domain/client/bin"),
  configPath: filePath
    .optional()
    .describe("The node's configuration file; default: by its family, e.g. node.conf in the bin directory"),
  dataPath: filePath
    .optional()
    .describe("Directory whose disk is watched; default: storage.mygrid_env.storage_data_path of the configuration"),
  version: nodeVersion
    .optional()
    .describe("The node's version; default: what debug_protocolVersion, node_cli or the image says"),
  clientName: z
    .string()
    .regex(/^[\w.-]{1,100}$/)
    .optional()
    .describe(
      "Name that the node's web3_clientVersion begins with; only then the version behind it counts, where nothing else names one",
    )
    .meta({ expected: "the word before the first slash of the node's web3_clientVersion" }),
  image: z
    .string()
    .min(1)
    .optional()
    .describe("Container image of the node; its tag names the version when nothing else does")
    .meta({ expected: "an image reference such as registry/node:0.16.2" }),
  httpUrl: httpUrl
    .default(`http://127.0.0.1:${stackServices.node.ports.http}`)
    .describe("JSON-RPC over HTTP of the node"),
  webSocketUrl: webSocketUrl
    .default(`ws://127.0.0.1:${stackServices.node.ports.webSocket}`)
    .describe("JSON-RPC over WebSocket of the node"),
  environment: z
    .array(z.string().regex(/^(?!GATEHOUSE_)[A-Za-z_]\w*$/))
    .max(64)
    .default([])
    .describe(
      "Variables of the sidecar's environment that the commands of ops and compose, node_cli and restart.checkCommand get, and a node that they start, besides PATH, " +
        "HOME, USER, LOGNAME, SHELL, LANG, LC_*, TZ and TMPDIR, and for compose DOCKER_*, COMPOSE_*, XDG_RUNTIME_DIR and SSH_AUTH_SOCK",
    )
    .meta({ expected: "names of variables, none of which begins with GATEHOUSE_, separated by commas" }),
  chainId: chainId.default(1672).describe("Chain id that the node has to answer"),
});

/** The Pushgateway that the node pushes to, as reachable from the sidecar, which checks whether metrics arrive. */
export const pushgatewaySection = section({
  url: httpUrl.optional().describe("Pushgateway to check for the node's metrics; default: not checked"),
  staleAfterMs: milliseconds
    .default(60_000)
    .describe("Age of the last push from which metrics count as missing; never less than three push intervals"),
  timeoutMs: milliseconds.default(3_000).describe("How long the Pushgateway may take to answer"),
  responseLimitBytes: z
    .int()
    .min(1_024)
    .max(1_073_741_824)
    .default(16_777_216)
    .describe("Largest answer of the Pushgateway that is read")
    .meta({ expected: "a number of bytes from 1024 to 1073741824" }),
});
