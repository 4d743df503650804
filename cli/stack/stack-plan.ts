import { toEnvironmentName } from "#daemon/settings/leaf.ts";
import { readSettings, type SettingsDefinition } from "#daemon/settings/settings.ts";
import { findReachedHost, formatAuthority } from "#daemon/http/address.ts";
import { isOperatedService, listScrapedServices, stackServices, type ScrapedService } from "#infra/stack-services.ts";
import type { DevnetSettings } from "#devnet/prepared-node.ts";
import { pushgatewaySettings } from "#devnet/pushgateway/settings.ts";
import { devnetSettings } from "#devnet/settings.ts";
import { tokenAddress } from "#devnet/token/address.ts";
import { upstreamSettings } from "#devnet/upstream/settings.ts";
import { facilitatorSettings } from "#facilitator/settings.ts";
import { resourceServerSettings } from "#resource-server/settings.ts";
import type { ScrapeTarget } from "#infra/observability/scrape-config.ts";
import { sidecarSettings } from "#sidecar/settings.ts";
import { embeddedMnemonic, type EmbeddedAccounts } from "./accounts.ts";
import { buildChildEnvironment, type Variables } from "./child-environment.ts";
import type { RequestedPort } from "./free-ports.ts";
import {
  buildDevnetEnvironment,
  buildFacilitatorEnvironment,
  buildPushgatewayEnvironment,
  buildResourceServerEnvironment,
  buildSidecarEnvironment,
  type ChainInfo,
} from "./service-environments.ts";
import type { StateDirectory } from "./state-directory.ts";

/** The subcommands that run as children of the stack. */
export type ChildName = "pushgateway" | "upstream" | "sidecar" | "facilitator" | "resource-server";

/** Everything known about an embedded stack before anything starts. */
export type StackPlan = Readonly<{
  chain: ChainInfo;
  devnet: DevnetSettings;
  urls: Readonly<{ upstream: string; sidecar: string; gateway: string; resourceServer: string }>;
  ports: readonly RequestedPort[];
  /** Services that Prometheus scrapes. */
  scraped: readonly ScrapeTarget[];
  /** Full environment of each child. */
  environments: Readonly<Record<ChildName, Record<string, string>>>;
}>;

/** Input of a plan. */
export type StackPlanOptions = Readonly<{
  directory: StateDirectory;
  accounts: EmbeddedAccounts;
  signerKeyFile: string;
  /** The user's environment; overrides the stack's variables. */
  env: Variables;
  /** Port of the page about all services. */
  overview?: number | undefined;
}>;

/**
 * Derives ports, URLs and environments of the stack.
 *
 * @throws {SettingsError} when a service's variables are invalid.
 */
export function planStack({ directory, accounts, signerKeyFile, env, overview }: StackPlanOptions): StackPlan {
  const pushgatewayEnv = buildChildEnvironment(buildPushgatewayEnvironment(directory), env);
  const pushgateway = readSettings(pushgatewaySettings, { env: pushgatewayEnv }).listen;
  const upstreamEnv = buildChildEnvironment({}, env);
  const upstream = readSettings(upstreamSettings, { env: upstreamEnv }).listen;
  const devnetEnv = buildChildEnvironment(buildDevnetEnvironment(directory, embeddedMnemonic, pushgateway), env);
  const devnet = readSettings(devnetSettings, { env: devnetEnv });
  const { node } = devnet;
  const chain = describeChain(devnet);
  const sidecarEnv = buildChildEnvironment(buildSidecarEnvironment(directory, chain, formatUrl(pushgateway)), env);
  const sidecar = readSettings(sidecarSettings, { env: sidecarEnv });
  const facilitatorEnv = buildChildEnvironment(buildFacilitatorEnvironment(directory, chain, signerKeyFile), env);
  const facilitator = readSettings(facilitatorSettings, { env: facilitatorEnv });
  const seller = { payee: accounts.payee.address, facilitatorUrl: formatUrl(facilitator.listen) };
  const resourceServerEnv = buildChildEnvironment(buildResourceServerEnvironment(directory, chain, seller), env);
  const resourceServer = readSettings(resourceServerSettings, { env: resourceServerEnv });
  const scraped: Readonly<Partial<Record<ScrapedService, Listener>>> = {
    sidecar: sidecar.listen,
    pushgateway,
    facilitator: facilitator.operations,
    "resource-server": resourceServer.operations,
  };
  const targets = listScrapedServices().flatMap((service) => {
    const listener = scraped[service];
    return listener === undefined ? [] : [buildScrapeTarget(service, listener)];
  });
  const pages = listPages(targets, overview);
  return {
    chain,
    devnet,
    urls: {
      upstream: formatUrl(upstream),
      sidecar: formatUrl(sidecar.listen),
      gateway: formatUrl(sidecar.gateway.public),
      resourceServer: formatUrl(resourceServer.listen),
    },
    ports: [
      buildWantedPort("node", { host: node.listenHost, port: node.httpPort }, devnetSettings, ["node", "httpPort"]),
      buildWantedPort("node's WebSocket", { host: node.listenHost, port: node.webSocketPort }, devnetSettings, [
        "node",
        "webSocketPort",
      ]),
      buildWantedPort("Pushgateway", pushgateway, pushgatewaySettings),
      buildWantedPort("sample upstream", upstream, upstreamSettings),
      buildWantedPort("gateway", sidecar.gateway.public, sidecarSettings, ["gateway", "public", "port"]),
      buildWantedPort("sidecar", sidecar.listen, sidecarSettings),
      buildWantedPort("facilitator", facilitator.listen, facilitatorSettings),
      buildWantedPort("facilitator's metrics", facilitator.operations, facilitatorSettings, ["operations", "port"]),
      buildWantedPort("resource server", resourceServer.listen, resourceServerSettings),
      buildWantedPort("resource server's metrics", resourceServer.operations, resourceServerSettings, [
        "operations",
        "port",
      ]),
    ],
    scraped: targets,
    environments: {
      pushgateway: pushgatewayEnv,
      upstream: upstreamEnv,
      sidecar: { GATEHOUSE_SIDECAR_LISTEN_PAGES: pages, ...sidecarEnv },
      facilitator: { GATEHOUSE_FACILITATOR_OPERATIONS_PAGES: pages, ...facilitatorEnv },
      "resource-server": { GATEHOUSE_RESOURCE_SERVER_OPERATIONS_PAGES: pages, ...resourceServerEnv },
    },
  };
}

function describeChain({ node, monitor, chain }: DevnetSettings): ChainInfo {
  return {
    chainId: chain.id,
    token: tokenAddress,
    httpUrl: `http://${formatAuthority(node.listenHost, node.httpPort)}`,
    webSocketUrl: `ws://${formatAuthority(node.listenHost, node.webSocketPort)}`,
    version: node.version,
    jobName: monitor.jobName,
  };
}

/** Lists the pages of the stack, for links between them. */
function listPages(targets: readonly ScrapeTarget[], overview: number | undefined): string {
  const services = targets.filter(({ service }) => isOperatedService(service));
  const pages = services.map(({ service, host, port }) => `${service}=http://${formatAuthority(host, port)}/`);
  return [...(overview === undefined ? [] : [`overview=http://127.0.0.1:${overview}/`]), ...pages].join(",");
}

type Listener = Readonly<{ host: string; port: number }>;

function buildWantedPort(
  owner: string,
  { host, port }: Listener,
  { service }: SettingsDefinition,
  path = ["listen", "port"],
): RequestedPort {
  return { owner, host, port, setting: toEnvironmentName(service, path) };
}

/** Builds the scrape target for a service's listener as reached from this machine; a listener on all addresses is reached on loopback. */
function buildScrapeTarget(service: ScrapedService, { host, port }: Listener): ScrapeTarget {
  const row = stackServices[service];
  const labels = "honorLabels" in row ? { honorLabels: row.honorLabels } : {};
  return { job: `gatehouse/${service}`, service, host: findReachedHost(host), port, ...labels };
}

function formatUrl({ host, port }: Listener): string {
  return `http://${formatAuthority(host, port)}`;
}
