import { devnetSettings } from "#devnet/settings.ts";
import type { StackConfig } from "../config/config-schema.ts";
import { buildService, readCommonArgs, type BuiltService } from "./built-service.ts";
import { devnetMnemonic } from "./node/dev-accounts.ts";
import { buildDevnetConfSeed, buildNodeConfSeed, type NodeConfArgs, type ProgramLocation } from "./node/node-conf.ts";
import {
  chooseNodeFamily,
  findImageUser,
  listPathVariables,
  listPlacedFiles,
  listSecretVariables,
} from "./node/node-image.ts";
import { readNodeKeys } from "./node/node-keys.ts";
import {
  chainDataVolume,
  confVolume,
  keysDirectory,
  nodePorts,
  workspaceDirectory,
  workspace,
} from "./node/node-layout.ts";
import { chooseNodeVersion } from "./node/node-version.ts";
import { chooseHostAddress, choosePeerPort } from "./node/peers.ts";
import { findPushTarget } from "./push-target.ts";
import { findRenderedValue } from "./rendered-settings.ts";
import {
  chooseNodeUser,
  oneReplica,
  type Edge,
  type PortSpec,
  type ResourceLimits,
  type ServiceSpec,
} from "./service-spec.ts";
import type { StackContext } from "./stack-context.ts";

/** Stop timeout for the node; killing it earlier can damage its chain data. */
export const nodeStopGraceSeconds = 300;

const ports: readonly PortSpec[] = [
  { name: "http", number: nodePorts.http, audience: "pod" },
  { name: "ws", number: nodePorts.webSocket, audience: "pod" },
];

/** The node pushes its metrics as soon as it starts. */
const startsAfter = ["pushgateway"] as const;

/** Builds the node: the devnet, or the operator's own image. Its RPC is reachable only through the sidecar's gateway. */
export function buildNodeSpec(config: StackConfig, context: StackContext): BuiltService {
  const push = findPushTarget(config, context.addresses);
  const conf: NodeConfArgs = {
    version: chooseNodeVersion(config),
    host: chooseHostAddress(config),
    peerPort: choosePeerPort(config),
    jobName: `${context.prefix}-node`,
    pushAddress: push.host,
    pushPort: push.port,
    pushIntervalSeconds: config.metricsPushIntervalSeconds,
  };
  const uid = findImageUser(config);
  if (uid !== undefined)
    return { spec: buildRealNode(config, context, { conf, pushEdge: push.edge, uid }), problems: [] };
  const { spec, problems } = buildDevnetNode(config, context, { conf, pushEdge: push.edge });
  return { spec: { ...spec, seed: buildDevnetConfSeed(conf) }, problems };
}

type NodeStart = Readonly<{ conf: NodeConfArgs; pushEdge: Edge }>;

function buildDevnetNode(config: StackConfig, { secret }: StackContext, { conf, pushEdge }: NodeStart): BuiltService {
  return buildService(
    {
      name: "node",
      image: "devnet",
      definition: devnetSettings,
      tree: {
        workspace: { directory: workspaceDirectory },
        node: {
          version: conf.version,
          listenHost: "0.0.0.0",
          httpPort: nodePorts.http,
          webSocketPort: nodePorts.webSocket,
        },
        chain: { id: config.chainId, mnemonic: config.devAccounts ? secret(devnetMnemonic) : undefined },
        // Matches the sidecar's desired state; otherwise the sidecar would correct the configuration and restart a node that has just
        // started.
        monitor: {
          jobName: conf.jobName,
          pushAddress: conf.pushAddress,
          pushPort: conf.pushPort,
          pushIntervalSeconds: conf.pushIntervalSeconds,
        },
      },
      ports,
      volumes: [workspace],
      edges: [pushEdge],
      startsAfter,
      health: { kind: "rpc", port: "http", startWithinSeconds: 120 },
      limits: { cpus: 1, memoryMebibytes: 1_024 },
      stopGraceSeconds: nodeStopGraceSeconds,
    },
    readCommonArgs(config, "node"),
  );
}

/** How long a node may replay its log before it responds: if stopped during the replay, it would have to start over. */
const replayMaxSeconds = 86_400;

export const realNodeLimits: ResourceLimits = { cpus: 8, memoryMebibytes: 32_768 };

/** Builds the node from the operator's image. The node starts through the image's own entry point, and only the operator knows its health check command. */
function buildRealNode(
  config: StackConfig,
  { secret }: StackContext,
  { conf, pushEdge, uid }: NodeStart & Readonly<{ uid: number }>,
): ServiceSpec {
  const family = chooseNodeFamily(config);
  const { image } = family;
  const keys = readNodeKeys(config, secret);
  const seed = buildNodeConfSeed(conf, { ...findPrograms(config), family, files: listPlacedFiles(config, secret) });
  const hasEntryPoint = image.programs === "entry-point";
  return {
    name: "node",
    image: "node",
    arguments: undefined,
    environment: hasEntryPoint ? listPathVariables(family) : {},
    secretEnvironment: listSecretVariables(config, secret),
    files: keys.files,
    existingFiles: keys.existing,
    filesDirectory: keysDirectory,
    ports: [...ports, { name: "peers", number: conf.peerPort, audience: "peers" }],
    volumes: hasEntryPoint ? [workspace] : [chainDataVolume, confVolume],
    ...(seed.locations === undefined || hasEntryPoint ? {} : { programs: seed.locations.bin }),
    seed,
    edges: [pushEdge, { to: "internet" }],
    startsAfter,
    health: {
      kind: "port",
      port: "http",
      command: config.nodeHealthCommand ?? image.healthCommand,
      startWithinSeconds: replayMaxSeconds,
    },
    limits: config.limits.node ?? realNodeLimits,
    openFiles: config.nodeUlimits?.nofile ?? image.openFiles,
    user: chooseNodeUser(uid),
    stopGraceSeconds: nodeStopGraceSeconds,
    replicas: oneReplica,
  };
}

/** Returns the path at which the sidecar expects the node's programs, and at which the deployment therefore installs them. */
function findPrograms({ settings }: StackConfig): ProgramLocation {
  const given = (path: readonly string[]) => {
    const value = findRenderedValue(settings.sidecar ?? {}, path);
    return typeof value === "string" ? value : undefined;
  };
  return {
    binDirectory: given(["nodeCli", "containerBinDirectory"]),
    nodeDirectory: given(["node", "nodeDirectory"]),
  };
}
