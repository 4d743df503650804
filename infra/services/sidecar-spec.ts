import { formatAuthority } from "#daemon/http/address.ts";
import { operatorPaths } from "#daemon/http/operator-paths.ts";
import { policyFields } from "#gateway/settings/policy.ts";
import { stackServices } from "../stack-services.ts";
import { sidecarSettings } from "#sidecar/settings.ts";
import type { StackConfig } from "../config/config-schema.ts";
import { deriveAccessTokens } from "./access-tokens.ts";
import { buildService, readCommonArgs, type BuiltService } from "./built-service.ts";
import { renderApiKeys } from "./gateway-api-keys.ts";
import { chooseNodeFamily, findImageUser, hasEntryPoint } from "./node/node-image.ts";
import {
  chainDataVolume,
  confVolume,
  locateConf,
  nodePorts,
  workspaceDirectory,
  workspace,
} from "./node/node-layout.ts";
import { nodeStopGraceSeconds } from "./node-spec.ts";
import { chooseNodeVersion } from "./node/node-version.ts";
import { findPushTarget } from "./push-target.ts";
import { liveFilesDirectory, stateDirectory, type ServiceSpec, chooseNodeUser } from "./service-spec.ts";
import { findRenderedValue, type SettingsTree } from "./rendered-settings.ts";
import { listServicePages } from "./service-pages.ts";
import { listOperatorHosts, type StackContext } from "./stack-context.ts";
import { findPublicProxies } from "./trusted-proxies.ts";

/** The gateway's policy, in a hot-reloaded file; not used if the operator configures their own file. */
const livePolicy = { at: ["gateway"], keys: Object.keys(policyFields), file: "policy.json5" } as const;

/**
 * All other settings, in a separate file. When the file changes, a new process replaces the sidecar while the gateway keeps responding.
 * Settings that identify the node or how to reach it stay in the environment, where policies see them; changing them replaces the
 * container. The file contains no secrets.
 */
const hotRestartSettings = {
  file: "settings.json5",
  withSecrets: true,
  fixed: [
    ["node"],
    ["monitor"],
    ["pushgateway"],
    ["prune", "enabled"],
    ["docker"],
    ["kubernetes"],
    ["upkeep", "stateDirectory"],
  ],
} as const;

/** Command in the image, which has no shell and no `gatehouse` in its PATH. */
const gatehouseProgram = "node /app/cli/gatehouse.js";

const { operations, ports } = stackServices.sidecar;

/** Directory of the engine proxy's socket, shared by the proxy and the sidecar. */
export const engineSocketDirectory = "/run/gatehouse/engine";

export const engineSocketPath = `${engineSocketDirectory}/engine.sock`;

export const engineSocketVolume = "engine-socket";

/**
 * Time after which the sidecar restarts a real node that has responded since it started but no longer does. Nothing else would restart it:
 * an engine never restarts an unhealthy container, and a cluster checks only that the port is open.
 */
const hungAfterMs = 900_000;

/** Builds the sidecar of one node: it reconciles node.conf and pruning, restarts the node, and guards its RPC. */
export function buildSidecarSpec(config: StackConfig, context: StackContext): BuiltService {
  const common = readCommonArgs(config, "sidecar");
  const apiKeys = renderApiKeys(config.gatewayApiKeys, common.settings);
  const hasOwnPolicy = findRenderedValue(common.settings ?? {}, ["gateway", "policyPath"]) !== undefined;
  const push = findPushTarget(config, context.addresses);
  const built = buildService(
    {
      name: "sidecar",
      image: "gatehouse",
      definition: sidecarSettings,
      tree: {
        ...buildSidecarTree(config, context),
        gateway: buildGatewayTree(config, context, apiKeys.keysPath),
        ...buildRestartTree(config, context),
      },
      liveFiles: apiKeys.liveFiles,
      live: hasOwnPolicy ? undefined : livePolicy,
      hotRestart: hotRestartSettings,
      ports: [
        { name: "rpc", number: ports.rpc, audience: "public" },
        { name: "private-rpc", number: ports["private-rpc"], audience: "public" },
        { name: "status", number: ports.status, audience: "system" },
      ],
      volumes: listSidecarVolumes(config, context),
      edges: [
        { to: "node", port: "http" },
        { to: "node", port: "ws" },
        push.edge,
        { to: "resource-server", port: "http" },
        ...(context.restart.driver === "kubernetes" ? [{ to: "api" } as const] : []),
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
        waitFor: hasEntryPoint(config) ? "live" : "ready",
      },
      limits: { cpus: 1, memoryMebibytes: 512 },
      stopGraceSeconds: 30,
      // Runs as the node's user, because it writes the node's files.
      user: chooseNodeUser(findImageUser(config)),
    },
    common,
  );
  return { ...built, problems: [...built.problems, ...apiKeys.problems] };
}

function buildSidecarTree(config: StackConfig, { prefix, addresses, published, restart }: StackContext): SettingsTree {
  const family = chooseNodeFamily(config);
  const isReal = findImageUser(config) !== undefined;
  const push = findPushTarget(config, addresses);
  return {
    listen: {
      host: "0.0.0.0",
      port: ports.status,
      pages: listServicePages(config),
      ...listOperatorHosts("sidecar", published),
    },
    node: {
      workspace: workspaceDirectory,
      family: hasEntryPoint(config) ? family.name : undefined,
      // A real node's programs exist only in its own container; its node.conf is stored separately from them.
      configPath: isReal ? locateConf(family) : undefined,
      version: chooseNodeVersion(config),
      image: config.nodeImage,
      httpUrl: `http://${addresses.nodeOfSidecar}:${nodePorts.http}`,
      webSocketUrl: `ws://${addresses.nodeOfSidecar}:${nodePorts.webSocket}`,
      chainId: config.chainId,
    },
    ...(hasEntryPoint(config)
      ? { nodeCli: { containerBinDirectory: `${workspaceDirectory}/bin`, configArgument: locateConf(family) } }
      : {}),
    pushgateway: { url: `http://${formatAuthority(push.host, push.port)}` },
    monitor: {
      enabled: true,
      jobName: `${prefix}-node`,
      pushAddress: push.host,
      pushPort: push.port,
      pushIntervalSeconds: config.metricsPushIntervalSeconds,
    },
    // The deployed node is the stack's own, and its plan was the preview, so the sidecar applies changes at once.
    upkeep: { mode: "enforce", stateDirectory, commandPrefix: `${restart.exec} ${gatehouseProgram}` },
    ...(config.volumeGrowth === undefined ? {} : { volume: { ...config.volumeGrowth, claim: workspace.name } }),
    shutdown: { graceMs: 20_000 },
  };
}

/** Builds the gateway's settings. Buyers of the resource server's tokens get their tier on the private listener (specification, Authentication, 4). */
function buildGatewayTree(config: StackConfig, context: StackContext, keysPath: string | undefined): SettingsTree {
  const { keySetUrl, issuer, audience } = deriveAccessTokens(config, context);
  return {
    public: { host: "0.0.0.0", port: ports.rpc },
    callers: {
      ...findPublicProxies(config),
      ...(context.published?.isPublicLoopback ? { corsOrigins: [] } : {}),
      keysPath,
    },
    private: { enabled: true, host: "0.0.0.0", port: ports["private-rpc"] },
    policyPath: `${liveFilesDirectory}/${livePolicy.file}`,
    jwt: { jwksUrl: keySetUrl, issuer, audience },
  };
}

function buildRestartTree(config: StackConfig, { restart }: StackContext): SettingsTree {
  const hanging = findImageUser(config) === undefined ? {} : { hungAfterMs };
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

function listSidecarVolumes(config: StackConfig, { restart }: StackContext): ServiceSpec["volumes"] {
  const hasWhole = findImageUser(config) === undefined || hasEntryPoint(config);
  const kept = [
    ...(hasWhole ? [workspace] : [confVolume, { ...chainDataVolume, readOnly: true }]),
    { name: "sidecar-state", path: stateDirectory, readOnly: false, retain: true, sizeGibibytes: 1 },
  ];
  if (restart.driver !== "docker") return kept;
  return [
    ...kept,
    { name: engineSocketVolume, path: engineSocketDirectory, readOnly: true, retain: false, sizeGibibytes: 1 },
  ];
}
