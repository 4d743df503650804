import { formatAuthority } from "#daemon/http/address.ts";
import { operatorPaths } from "#daemon/http/operator-paths.ts";
import { stackServices } from "../stack-services.ts";
import { nodeFamilies, type NodeFamily } from "#node/families.ts";
import { sidecarSettings } from "#sidecar/settings.ts";
import { buildService, type BuiltService, type CommonArgs } from "./built-service.ts";
import { renderApiKeys, type GatewayApiKeys, type RenderedApiKeys } from "./gateway-api-keys.ts";
import {
  chainDataVolume,
  confVolume,
  locateConf,
  nodePorts,
  workspaceDirectory,
  workspace,
} from "./node/node-layout.ts";
import { nodeStopGraceSeconds } from "./node-spec.ts";
import { listOperatorHosts, type Published } from "./published.ts";
import type { PushTarget } from "./push-target.ts";
import type { AccessTokens } from "./resource-server-spec.ts";
import { liveFilesDirectory, stateDirectory, type ServiceSpec, chooseNodeUser } from "./service-spec.ts";
import { findRenderedValue, type SettingsTree } from "./rendered-settings.ts";
import { hotRestartSettings, livePolicy } from "./sidecar-files.ts";
import type { PublicProxies } from "./trusted-proxies.ts";

/** How the sidecar restarts the node: through the engine proxy's socket, or through the Kubernetes API. */
export type RestartRoute = Readonly<{
  /** Command prefix for running a program in the sidecar's container, shown in messages to operators. */
  exec: string;
}> &
  (
    | Readonly<{ driver: "docker"; container: string }>
    | Readonly<{ driver: "kubernetes"; strategy: "delete-pod" | "signal"; pod: string }>
  );

export type SidecarArgs = CommonArgs &
  Readonly<{
    chainId: number;
    nodeVersion: string;
    /** The node's image, if it is not the devnet's. The tag also specifies the version. */
    nodeImage: string | undefined;
    /** User in the node's own image: the sidecar writes files that the node owns. Undefined for the devnet. */
    nodeImageUser: number | undefined;
    /** Family of the node's own image; defaults to the specification's. */
    nodeFamily?: NodeFamily;
    /** Host at which the sidecar reaches the node. */
    nodeHost: string;
    /** The Pushgateway used by the node and the sidecar. */
    push: PushTarget;
    pushIntervalSeconds: number;
    /** Job name for the node's metrics; unique per node. */
    jobName: string;
    restart: RestartRoute;
    /** Tokens that the gateway's private listener accepts, and the URL of the key set that verifies them. */
    accessTokens?: Omit<AccessTokens, "privateKey">;
    /** API keys that the gateway's private listener accepts. Without keys or tokens, the listener is off. */
    apiKeys?: GatewayApiKeys;
    /** Growth settings for the node's volume, on Kubernetes; undefined if the volume does not grow. */
    volumeGrowth: VolumeGrowth | undefined;
    /** Proxies in front of the gateway; undefined if callers connect directly. */
    publicProxies: PublicProxies | undefined;
    /** Links on its page, each `name=URL`; default: none. */
    pages?: readonly string[] | undefined;
    /** Host publication of the sidecar; absent if it is not published. */
    published?: Published | undefined;
  }>;

/** Step and limit for growing the node's volume. */
export type VolumeGrowth = Readonly<{
  stepGibibytes?: number | undefined;
  ceilingGibibytes: number;
}>;

/** Command in the image, which has no shell and no `gatehouse` in its PATH. */
const gatehouseProgram = "node /app/cli/gatehouse.js";

const { operations, ports } = stackServices.sidecar;

/** Directory of the engine proxy's socket, shared by the proxy and the sidecar. */
export const engineSocketDirectory = "/run/gatehouse/engine";

export const engineSocketPath = `${engineSocketDirectory}/engine.sock`;

/** The volume that holds the engine proxy's socket. */
export const engineSocketVolume = "engine-socket";

/**
 * Time after which the sidecar restarts a real node that has responded since it started but no longer does. Nothing else would restart it:
 * an engine never restarts an unhealthy container, and a cluster sees only that the port is open.
 */
const hungAfterMs = 900_000;

/**
 * Builds the sidecar of one node: it reconciles node.conf and pruning, restarts the node, and guards its RPC.
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
      handed: hotRestartSettings,
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
        // The node may sync for days, during which the sidecar is not ready.
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

/** Builds the settings of the sidecar. The private listener runs if it has an API key file, even an empty one. */
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
      // A real node's programs exist only in its own container; its node.conf is stored separately from them.
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
    // The deployed node is the stack's own, and the preview was its plan, so the sidecar applies changes at once.
    upkeep: { mode: "enforce", stateDirectory, commandPrefix: `${args.restart.exec} ${gatehouseProgram}` },
    ...(args.volumeGrowth === undefined ? {} : { volume: { ...args.volumeGrowth, claim: workspace.name } }),
    shutdown: { graceMs: 20_000 },
  };
}

/** Builds the settings that grant the resource server's token buyers their tier on the private listener (specification, Authentication, 4). */
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

/** Whether the node's own image keeps its programs, configuration and data in one workspace. */
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
