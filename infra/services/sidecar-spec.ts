import { formatAuthority } from "#daemon/http/address.ts";
import { operatorPaths, stackServices } from "#daemon/stack-services.ts";
import { nodeFamilies, type NodeFamily } from "#node/families.ts";
import { sidecarSettings } from "#sidecar/settings.ts";
import { buildService, type BuiltService, type CommonArgs } from "./built-service.ts";
import { renderApiKeys, type GatewayApiKeys, type RenderedApiKeys } from "./gateway-api-keys.ts";
import {
  chainDataVolume,
  confVolume,
  locateConf,
  nodePorts,
  nodeStopGraceSeconds,
  workspaceDirectory,
  workspace,
} from "./node/node-layout.ts";
import { listOperatorHosts, type Published } from "./published.ts";
import type { PushTarget } from "./push-target.ts";
import type { AccessTokens } from "./resource-server-spec.ts";
import { liveFilesDirectory, stateDirectory, type ServiceSpec, chooseNodeUser } from "./service-spec.ts";
import { findRenderedValue, type SettingsTree } from "./rendered-settings.ts";
import { handedSettings, livePolicy } from "./sidecar-files.ts";
import type { PublicProxies } from "./trusted-proxies.ts";

/** Way in which the sidecar restarts the node: through the engine proxy's socket, or through the Kubernetes API. */
export type RestartRoute = Readonly<{
  /** Command that runs a program in the sidecar's container, up to the program; messages to people show it. */
  exec: string;
}> &
  (
    | Readonly<{ driver: "docker"; container: string }>
    | Readonly<{ driver: "kubernetes"; strategy: "delete-pod" | "signal"; pod: string }>
  );

/** Arguments of {@link sidecarSpec}. */
export type SidecarArgs = CommonArgs &
  Readonly<{
    chainId: number;
    nodeVersion: string;
    /** Image of the node if it is not the devnet's; its tag names the version too. */
    nodeImage: string | undefined;
    /** User that the node's own image runs as: the sidecar writes files that the node owns. Undefined for the devnet. */
    nodeImageUser: number | undefined;
    /** Family of the node's own image; default: the specification's. */
    nodeFamily?: NodeFamily;
    /** Host under which the sidecar reaches the node. */
    nodeHost: string;
    /** The Pushgateway, for the node and for the sidecar. */
    push: PushTarget;
    pushIntervalSeconds: number;
    /** Job name of the node's metrics; unique per node. */
    jobName: string;
    restart: RestartRoute;
    /** Tokens that the gateway's private listener takes, and the URL of the key set that verifies them. */
    accessTokens?: Omit<AccessTokens, "privateKey">;
    /** API keys that the gateway's private listener takes; without keys and tokens, the listener is off. */
    apiKeys?: GatewayApiKeys;
    /** Growth of the node's volume, on Kubernetes; undefined if it does not grow. */
    volumeGrowth: VolumeGrowth | undefined;
    /** Proxies before the gateway; undefined if callers reach it themselves. */
    publicProxies: PublicProxies | undefined;
    /** Pages that its page links to, each `name=URL`; default: none. */
    pages?: readonly string[] | undefined;
    /** Publication of the sidecar on a host; absent if none publishes it. */
    published?: Published | undefined;
  }>;

/** Threshold, step and limit of the growth of the node's volume. */
export type VolumeGrowth = Readonly<{
  growBelowFreeRatio?: number | undefined;
  stepGibibytes?: number | undefined;
  ceilingGibibytes: number;
}>;

/** Command in the image, which has no shell and no `gatehouse` on its path. */
const gatehouseProgram = "node /app/cli/gatehouse.js";

const { operations, ports } = stackServices.sidecar;

/** Directory of the engine proxy's socket, shared by the proxy and the sidecar. */
export const engineSocketDirectory = "/run/gatehouse/engine";

/** The engine proxy's socket. */
export const engineSocketPath = `${engineSocketDirectory}/engine.sock`;

/** The volume that holds the engine proxy's socket. */
export const engineSocketVolume = "engine-socket";

/**
 * Time that a real node that has answered since its start may be silent before the sidecar restarts it. Nobody else would: an engine never restarts an
 * unwell container, and a cluster can only see that the port is open.
 */
const hungAfterMs = 900_000;

/**
 * Builds the sidecar of one node: keeps node.conf and pruning right, restarts the node, guards its RPC.
 *
 * @example
 * import { sidecarSpec } from "gatehouse-evm/pulumi";
 *
 * // `args` are those of stackArgs().
 * const { problems } = sidecarSpec({ ...args.sidecar, settings: { gateway: { public: { port: 99_999 } } } });
 * console.log(problems[0]?.key); // settings.sidecar.gateway.public.port
 */
export function sidecarSpec(args: SidecarArgs): BuiltService {
  const apiKeys = hasPrivateListener(args) ? renderApiKeys(args.apiKeys, args.settings) : undefined;
  const hasOwnPolicy = findRenderedValue(args.settings ?? {}, ["gateway", "policyPath"]) !== undefined;
  const built = buildService(
    {
      name: "sidecar",
      image: "gatehouse",
      definition: sidecarSettings,
      tree: { ...buildSidecarTree(args, apiKeys), ...buildRestartTree(args) },
      liveFiles: apiKeys?.liveFiles ?? [],
      live: hasOwnPolicy ? undefined : livePolicy,
      handed: handedSettings,
      ports: [
        { name: "rpc", number: ports.rpc, audience: "public" },
        ...(apiKeys === undefined
          ? []
          : [{ name: "private-rpc", number: ports["private-rpc"], audience: "public" } as const]),
        { name: "status", number: ports.status, audience: "system" },
      ],
      volumes: listSidecarVolumes(args),
      edges: [
        { to: "node", port: "http" },
        { to: "node", port: "ws" },
        args.push.edge,
        ...(args.accessTokens === undefined ? [] : [{ to: "resource-server", port: "http" } as const]),
        ...(args.restart.driver === "kubernetes" ? [{ to: "api" } as const] : []),
      ],
      metrics: { port: operations },
      health: {
        kind: "http",
        port: "status",
        readyPath: operatorPaths.ready,
        livePath: operatorPaths.live,
        startupPath: "/startupz",
        startWithinSeconds: 300,
        // The node may be syncing for days, and the sidecar is not ready meanwhile.
        awaited: hasEntryPoint(args) ? "live" : "ready",
      },
      limits: { cpus: 1, memoryMebibytes: 512 },
      stopGraceSeconds: 30,
      user: chooseNodeUser(args.nodeImageUser),
    },
    args,
  );
  return { ...built, problems: [...built.problems, ...(apiKeys?.problems ?? [])] };
}

function hasPrivateListener({ accessTokens, apiKeys = {} }: SidecarArgs): boolean {
  return accessTokens !== undefined || Object.keys(apiKeys).length > 0;
}

/** Builds the settings of the sidecar. The private listener runs if it has API keys to read, if only an empty file. */
function buildSidecarTree(args: SidecarArgs, apiKeys: RenderedApiKeys | undefined): SettingsTree {
  const { nodeFamily = nodeFamilies[0] } = args;
  const isReal = args.nodeImageUser !== undefined;
  return {
    listen: { host: "0.0.0.0", port: ports.status, pages: args.pages, ...listOperatorHosts("sidecar", args.published) },
    gateway: {
      public: { host: "0.0.0.0", port: ports.rpc },
      callers: {
        ...args.publicProxies,
        ...(args.published?.isPublicLoopback ? { corsOrigins: [] } : {}),
        keysPath: apiKeys?.keysPath,
      },
      ...(apiKeys !== undefined ? { private: { enabled: true, host: "0.0.0.0", port: ports["private-rpc"] } } : {}),
      policyPath: `${liveFilesDirectory}/${livePolicy.file}`,
      ...buildTokenTree(args.accessTokens),
    },
    node: {
      workspace: workspaceDirectory,
      family: isReal && hasEntryPoint(args) ? nodeFamily.name : undefined,
      // A real node's programs are in its own container alone, and its node.conf apart from them.
      configPath: isReal ? locateConf(nodeFamily) : undefined,
      version: args.nodeVersion,
      image: args.nodeImage,
      httpUrl: `http://${args.nodeHost}:${nodePorts.http}`,
      webSocketUrl: `ws://${args.nodeHost}:${nodePorts.webSocket}`,
      chainId: args.chainId,
    },
    ...(isReal && hasEntryPoint(args)
      ? { nodeCli: { containerBinDirectory: `${workspaceDirectory}/bin`, configArgument: locateConf(nodeFamily) } }
      : {}),
    pushgateway: { url: `http://${formatAuthority(args.push.host, args.push.port)}` },
    monitor: {
      enabled: true,
      jobName: args.jobName,
      pushAddress: args.push.host,
      pushPort: args.push.port,
      pushIntervalSeconds: args.pushIntervalSeconds,
    },
    // What is deployed is the stack's own node, and its plan was the preview: it is acted on at once.
    upkeep: { mode: "enforce", stateDirectory, commandPrefix: `${args.restart.exec} ${gatehouseProgram}` },
    ...(args.volumeGrowth === undefined ? {} : { volume: { ...args.volumeGrowth, claim: workspace.name } }),
    shutdown: { graceMs: 20_000 },
  };
}

/** Builds the settings by which whoever bought a token of the resource server has its tier at the private listener (specification, Authentication, 4). */
function buildTokenTree(tokens: SidecarArgs["accessTokens"]): SettingsTree {
  if (tokens === undefined) return {};
  const { keySetUrl, issuer, audience } = tokens;
  return { jwt: { jwksUrl: keySetUrl, issuer, audience } };
}

function buildRestartTree({ restart, nodeImageUser }: SidecarArgs): SettingsTree {
  const hanging = nodeImageUser === undefined ? {} : { hungAfterMs };
  if (restart.driver === "docker") {
    return {
      restart: { driver: "docker", ...hanging },
      docker: {
        engine: `unix://${engineSocketPath}`,
        container: restart.container,
        stopTimeoutSeconds: nodeStopGraceSeconds,
      },
    };
  }
  return {
    restart: { driver: "kubernetes", ...hanging },
    kubernetes: { strategy: restart.strategy, pod: restart.pod },
  };
}

/** Whether the node's own image has its programs, its configuration and its data in one workspace. */
function hasEntryPoint({ nodeFamily }: SidecarArgs): boolean {
  return nodeFamily?.image.programs === "entry-point";
}

function listSidecarVolumes(args: SidecarArgs): ServiceSpec["volumes"] {
  const { restart, nodeImageUser } = args;
  const hasWhole = nodeImageUser === undefined || hasEntryPoint(args);
  const kept = [
    ...(hasWhole ? [workspace] : [confVolume, { ...chainDataVolume, readOnly: true }]),
    { name: "sidecar-state", path: stateDirectory, readOnly: false, keep: true, sizeGibibytes: 1 },
  ];
  if (restart.driver !== "docker") return kept;
  return [
    ...kept,
    { name: engineSocketVolume, path: engineSocketDirectory, readOnly: true, keep: false, sizeGibibytes: 1 },
  ];
}
