import { stackServices, type OperatedService } from "../stack-services.ts";
import type { StackConfig } from "../config/config-schema.ts";
import { findPublicHosts } from "../config/exposure.ts";
import { deriveAccessTokens } from "./access-tokens.ts";
import type { Addresses } from "./addresses.ts";
import type { BundledContext } from "./bundled-service.ts";
import { readBundledArgs, type BundledArgs } from "./bundled-services.ts";
import { devAccounts, devnetMnemonic, findSignerKey, findStackSecret } from "./node/dev-accounts.ts";
import type { FacilitatorArgs, Token } from "./facilitator-spec.ts";
import type { ProgramLocation } from "./node/node-conf.ts";
import { chooseNodeFamily, hasEntryPoint, listPlacedFiles, listSecretVariables } from "./node/node-image.ts";
import { readNodeKeys } from "./node/node-keys.ts";
import { nodePorts } from "./node/node-layout.ts";
import type { NodeArgs } from "./node-spec.ts";
import { chooseNodeVersion } from "./node/node-version.ts";
import { chooseHostAddress, choosePeerPort } from "./node/peers.ts";
import { findPushTarget, type PushTarget } from "./push-target.ts";
import type { RestoreArgs } from "./restore-spec.ts";
import type { Published } from "./published.ts";
import { findDatabase } from "./replication.ts";
import { listServicePages } from "./service-pages.ts";
import { type ResourceServerArgs, type Routes, listPayees } from "./resource-server-spec.ts";
import { findRenderedValue } from "./rendered-settings.ts";
import { findPublicProxies } from "./trusted-proxies.ts";
import type { RestartRoute, SidecarArgs } from "./sidecar-spec.ts";
import { sellsSample } from "./upstream-spec.ts";
import type { CommonArgs } from "./built-service.ts";
import type { VolumeSnapshotArgs } from "./volume-snapshot-spec.ts";

/** Arguments of every component of a stack. */
export type StackArgs = BundledArgs &
  Readonly<{
    node: NodeArgs;
    sidecar: SidecarArgs;
    /** Snapshot from which chain data is restored, if any. */
    restore: RestoreArgs | undefined;
    /** Snapshot schedule for the node's volume, if any. */
    volumeSnapshots: VolumeSnapshotArgs | undefined;
    facilitator: FacilitatorArgs;
    resourceServer: ResourceServerArgs;
  }>;

/** The target's names, addresses and secrets, from which the arguments are built. */
export type StackContext = BundledContext &
  Readonly<{
    /** Host publication of the services; absent if the target publishes none. */
    published?: Published | undefined;
    restart: RestartRoute;
  }>;

/**
 * Maps a stack's configuration to the arguments of its components. Pure; the builders validate.
 *
 * @example
 * import { deploymentSecret, parseConfig, stackArgs } from "gatehouse-evm/pulumi";
 *
 * const { addresses, published, restart } = platform;
 * const config = parseConfig({ devAccounts: "true", tokenAddress: token });
 * const args = stackArgs(config, { prefix: "pay", addresses, published, restart, secret: deploymentSecret });
 * console.log(args.facilitator.rpcUrl); // http://node:18100
 */
export function stackArgs(config: StackConfig, context: StackContext): StackArgs {
  const { addresses, prefix, published } = context;
  const accounts = config.devAccounts ? devAccounts : undefined;
  const signer = findSignerKey(config);
  const payTo = config.payTo ?? accounts?.payee.address;
  const token = findToken(config);
  const imageUser = config.nodeImage === undefined ? undefined : config.nodeUser;
  const jobName = `${prefix}-node`;
  const push = findPushTarget(config, addresses);
  const database = findDatabase(config, context);
  const tokens = deriveAccessTokens(findStackSecret(config), context);
  const publicProxies = findPublicProxies(config);
  // A cluster rolls pods; a Docker host has one container per service, in which a new process replaces the old one.
  const isHandedOver = context.restart.driver === "docker";
  const isReadyLate = hasEntryPoint(config);
  const sample = sellsSample(config);
  const routes = sample ? buildSampleRoutes(config, addresses, payTo) : config.routes;
  return {
    ...readBundledArgs(config, context),
    node: buildNodeArgs(config, context, { imageUser, jobName, push }),
    sidecar: {
      chainId: config.chainId,
      nodeVersion: chooseNodeVersion(config),
      nodeImage: config.nodeImage,
      nodeImageUser: imageUser,
      nodeFamily: chooseNodeFamily(config),
      nodeHost: addresses.nodeOfSidecar,
      push,
      pushIntervalSeconds: config.metricsPushIntervalSeconds,
      jobName,
      restart: context.restart,
      accessTokens: tokens,
      apiKeys: config.gatewayApiKeys,
      volumeGrowth: config.volumeGrowth,
      publicProxies,
      published,
      ...getOperated(config, "sidecar"),
    },
    restore: config.restore && { ...config.restore, imageUser, ...getCommon(config, "restore") },
    volumeSnapshots: config.volumeSnapshots && { ...config.volumeSnapshots, ...getCommon(config, "volume-snapshot") },
    facilitator: {
      chainId: config.chainId,
      rpcUrl: `http://${addresses.node}:${nodePorts.http}`,
      signerPrivateKey: signer === undefined ? undefined : context.secret(signer),
      tokens: token === undefined ? [] : [token],
      payees: listPayees(payTo, routes),
      database,
      replicas: config.facilitatorReplicas,
      isHandedOver,
      isReadyLate,
      ...getOperated(config, "facilitator"),
    },
    resourceServer: {
      chainId: config.chainId,
      payTo,
      token,
      facilitatorUrl: `http://${addresses.facilitator}:${stackServices.facilitator.ports.http}`,
      accessTokens: tokens,
      routes,
      publicUrl: findPublicUrl(config),
      publicProxies,
      database,
      published,
      replicas: config.resourceServerReplicas,
      isHandedOver,
      isReadyLate,
      ...getOperated(config, "resource-server"),
    },
  };
}

function buildNodeArgs(
  config: StackConfig,
  { secret }: StackContext,
  { imageUser, jobName, push }: Readonly<{ imageUser: number | undefined; jobName: string; push: PushTarget }>,
): NodeArgs {
  return {
    chainId: config.chainId,
    version: chooseNodeVersion(config),
    imageUser,
    pushEdge: push.edge,
    healthCommand: config.nodeHealthCommand,
    conf: {
      host: chooseHostAddress(config),
      peerPort: choosePeerPort(config),
      jobName,
      pushAddress: push.host,
      pushPort: push.port,
      pushIntervalSeconds: config.metricsPushIntervalSeconds,
    },
    programs: findProgramPlace(config),
    family: chooseNodeFamily(config),
    placed: listPlacedFiles(config, secret),
    secretEnvironment: listSecretVariables(config, secret),
    openFiles: config.nodeUlimits?.nofile,
    keys: readNodeKeys(config, secret),
    mnemonic: config.devAccounts ? secret(devnetMnemonic) : undefined,
    ...getCommon(config, "node"),
  };
}

/** Returns the path at which the sidecar expects the node's programs, and at which the deployment therefore installs them. */
function findProgramPlace({ settings }: StackConfig): ProgramLocation {
  const given = (path: readonly string[]) => {
    const value = findRenderedValue(settings.sidecar ?? {}, path);
    return typeof value === "string" ? value : undefined;
  };
  return {
    binDirectory: given(["nodeCli", "containerBinDirectory"]),
    nodeDirectory: given(["node", "nodeDirectory"]),
  };
}

function findPublicUrl(config: StackConfig): string | undefined {
  const hosts = findPublicHosts(config);
  return config.publicUrl ?? (hosts === undefined ? undefined : `https://${hosts.resourceServerHost}`);
}

function findToken(config: StackConfig): Token | undefined {
  if (config.tokenAddress === undefined) return undefined;
  return { address: config.tokenAddress, name: config.tokenName, version: config.tokenVersion };
}

function getCommon(
  config: StackConfig,
  service: keyof StackConfig["limits"] & keyof StackConfig["settings"],
): CommonArgs {
  return { limits: config.limits[service], settings: config.settings[service] };
}

/** Reads the arguments common to services that have an operator page. */
function getOperated(config: StackConfig, service: OperatedService & keyof StackConfig["settings"]) {
  return { pages: listServicePages(config), ...getCommon(config, service) };
}

function buildSampleRoutes(config: StackConfig, addresses: Addresses, payTo: string | undefined): Routes {
  const offer = { scheme: "exact", network: `eip155:${config.chainId}`, payTo };
  return {
    "POST /access": {
      accepts: { ...offer, price: "$0.05" },
      description: "An hour of the gateway's paid tier",
      mimeType: "application/json",
      token: { tier: "paid", seconds: 3_600 },
    },
    "GET /data": {
      accepts: { ...offer, price: "$0.01" },
      description: "A sample document that counts how often it was sold",
      mimeType: "application/json",
      upstream: `http://${addresses.upstream}:${stackServices.upstream.ports.http}/data`,
    },
    "GET /api/info": {
      accepts: { ...offer, price: "$0.01" },
      description: "What the sample upstream is",
      mimeType: "application/json",
      upstream: `http://${addresses.upstream}:${stackServices.upstream.ports.http}/api/info`,
    },
  };
}
