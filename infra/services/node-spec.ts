import type { Input } from "@pulumi/pulumi";
import { devnetSettings } from "#devnet/settings.ts";
import type { NodeFamily } from "#node/families.ts";
import { buildService, type BuiltService, type CommonArgs } from "./built-service.ts";
import type { DeploymentSecret } from "../config/deployment-secret.ts";
import type { NodeKeys } from "./node/node-keys.ts";
import {
  chainDataVolume,
  confVolume,
  keysDirectory,
  nodePorts,
  workspaceDirectory,
  workspace,
} from "./node/node-layout.ts";
import { buildDevnetConfSeed, buildNodeConfSeed, type NodeConfArgs, type ProgramLocation } from "./node/node-conf.ts";
import type { NetworkHealth } from "./probes.ts";
import {
  oneReplica,
  type Edge,
  type PlacedFile,
  type PortSpec,
  type ResourceLimits,
  type ServiceSpec,
  chooseNodeUser,
} from "./service-spec.ts";
import { listPathVariables } from "./node/node-image.ts";

/** Stop timeout for the node; killing it earlier can damage its chain data. */
export const nodeStopGraceSeconds = 300;

export type NodeArgs = CommonArgs &
  Readonly<{
    chainId: number;
    version: string;
    /** User in the node's own image; undefined for the devnet, which is one of Gatehouse's images. */
    imageUser: number | undefined;
    /** Edge from the node to the Pushgateway. */
    pushEdge: Edge;
    /** Command in the node's own image that checks the node's health. */
    healthCommand: readonly string[] | undefined;
    /** Initial configuration of the node; the peer port in it is the exposed one. */
    conf: Omit<NodeConfArgs, "version">;
    /** Location of the programs in the node's own image. */
    programs: ProgramLocation;
    /** Family of the node's own image. */
    family: NodeFamily;
    /** Files from the stack to install in the node's workspace. */
    placed: readonly PlacedFile[];
    /** Environment variables for the node's own image that may contain secrets. */
    secretEnvironment: Readonly<Record<string, Input<string>>>;
    /** Max open files for the node's own image; the default depends on its family. */
    openFiles: number | undefined;
    /** Keys of the node; the devnet has none. */
    keys: NodeKeys;
    /** Mnemonic for the accounts that a new devnet chain funds. */
    mnemonic: DeploymentSecret | undefined;
  }>;

const ports: readonly PortSpec[] = [
  { name: "http", number: nodePorts.http, audience: "pod" },
  { name: "ws", number: nodePorts.webSocket, audience: "pod" },
];

/** The node pushes its metrics as soon as it starts. */
const startsAfter = ["pushgateway"] as const;

/**
 * Builds the node: the devnet, or the operator's own image. Its RPC is reachable only through the sidecar's gateway.
 *
 * @example
 * import { nodeSpec } from "gatehouse-evm/pulumi";
 *
 * // `args` are those of stackArgs().
 * const { spec, problems } = nodeSpec({ ...args.node, chainId: 1672 });
 * console.log(spec.name, problems); // node []
 */
export function nodeSpec(args: NodeArgs): BuiltService {
  if (args.imageUser !== undefined) return { spec: buildRealNode(args, args.imageUser), problems: [] };
  const { spec, problems } = buildDevnetNode(args);
  return { spec: { ...spec, seed: buildDevnetConfSeed({ ...args.conf, version: args.version }) }, problems };
}

function buildDevnetNode(args: NodeArgs): BuiltService {
  const health: NetworkHealth = {
    kind: "rpc",
    port: "http",
    readyPath: "/",
    livePath: "/",
    startupPath: "/",
    startWithinSeconds: 120,
  };
  return buildService(
    {
      name: "node",
      image: "devnet",
      definition: devnetSettings,
      tree: {
        workspace: { directory: workspaceDirectory },
        node: {
          version: args.version,
          listenHost: "0.0.0.0",
          httpPort: nodePorts.http,
          webSocketPort: nodePorts.webSocket,
        },
        chain: { id: args.chainId, mnemonic: args.mnemonic },
        // Matches the sidecar's desired state: the sidecar would correct any other configuration, and thereby restart a node that has just
        // started.
        monitor: {
          jobName: args.conf.jobName,
          pushAddress: args.conf.pushAddress,
          pushPort: args.conf.pushPort,
          pushIntervalSeconds: args.conf.pushIntervalSeconds,
        },
      },
      ports,
      volumes: [workspace],
      edges: [args.pushEdge],
      startsAfter,
      health,
      limits: { cpus: 1, memoryMebibytes: 1_024 },
      stopGraceSeconds: nodeStopGraceSeconds,
    },
    args,
  );
}

/** How long a node may replay its log before it responds: a node stopped during the replay would have to start over. */
const replayMaxSeconds = 86_400;

/** Default limits for a node from the operator's image. */
export const realNodeLimits: ResourceLimits = { cpus: 8, memoryMebibytes: 32_768 };

/** Builds the node from the operator's image. The node starts through the image's own entry point, and only the operator knows its health check command. */
function buildRealNode(args: NodeArgs, uid: number): ServiceSpec {
  const { family, placed: files } = args;
  const { image } = family;
  const seed = buildNodeConfSeed({ ...args.conf, version: args.version }, { ...args.programs, family, files });
  const hasEntryPoint = image.programs === "entry-point";
  return {
    name: "node",
    image: "node",
    arguments: undefined,
    environment: hasEntryPoint ? listPathVariables(family) : {},
    secretEnvironment: args.secretEnvironment,
    files: args.keys.files,
    foreignFiles: args.keys.foreign,
    filesDirectory: keysDirectory,
    ports: [...ports, { name: "peers", number: args.conf.peerPort, audience: "peers" }],
    volumes: hasEntryPoint ? [workspace] : [chainDataVolume, confVolume],
    ...(seed.places === undefined || hasEntryPoint ? {} : { programs: seed.places.bin }),
    seed,
    edges: [args.pushEdge, { to: "internet" }],
    startsAfter,
    health: {
      kind: "port",
      port: "http",
      command: args.healthCommand ?? image.healthCommand,
      startWithinSeconds: replayMaxSeconds,
    },
    limits: args.limits ?? realNodeLimits,
    openFiles: args.openFiles ?? image.openFiles,
    user: chooseNodeUser(uid),
    stopGraceSeconds: nodeStopGraceSeconds,
    replicas: oneReplica,
  };
}
