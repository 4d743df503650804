import { resolve } from "node:path";
import type { Address } from "viem";
import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import { findReachedHost, formatAuthority } from "#daemon/http/address.ts";
import { readSettings, type SettingsDefinition } from "#daemon/settings/settings.ts";
import type { DevnetSettings } from "#devnet/prepared-node.ts";
import { pushgatewaySettings } from "#devnet/pushgateway/settings.ts";
import { devnetSettings } from "#devnet/settings.ts";
import { tokenAddress } from "#devnet/token/address.ts";
import { upstreamSettings } from "#devnet/upstream/settings.ts";
import { facilitatorSettings } from "#facilitator/settings.ts";
import type { ScrapeTarget } from "#infra/observability/scrape-config.ts";
import { isOperatedService, listScrapedServices, stackServices, type ScrapedService } from "#infra/stack-services.ts";
import { resourceServerSettings } from "#resource-server/settings.ts";
import { sidecarSettings } from "#sidecar/settings.ts";
import { embeddedMnemonic, type EmbeddedAccounts } from "./accounts.ts";
import { selectServiceVariables } from "../service-variables.ts";
import { buildChildEnvironment, type Variables } from "./child-environment.ts";
import type { RequestedPort } from "./free-ports.ts";
import { listStackPorts } from "./stack-ports.ts";
import type { StateDirectory } from "./state-directory.ts";
import { describeUnusedSettings, preferFile } from "./user-settings.ts";

export type ChildName = "pushgateway" | "upstream" | "sidecar" | "facilitator" | "resource-server";

/** Everything known about an embedded stack before anything starts. */
export type StackPlan = Readonly<{
  chain: ChainInfo;
  devnet: DevnetSettings;
  /** Payment terms of the resource server. */
  sale: Readonly<{ chainId: number; token: Address; payee: Address }>;
  urls: Readonly<{ upstream: string; sidecar: string; gateway: string; facilitator: string; resourceServer: string }>;
  ports: readonly RequestedPort[];
  scraped: readonly ScrapeTarget[];
  pages: readonly string[];
  /** The user's variables that lack their usual effect, one per line. */
  unusedSettings: readonly string[];
  environments: Readonly<Record<ChildName, Record<string, string>>>;
}>;

type ChainInfo = Readonly<{
  workspace: string;
  chainId: number;
  token: Address;
  httpUrl: string;
  webSocketUrl: string;
  version: string;
  jobName: string | undefined;
}>;

type StackPlanOptions = Readonly<{
  directory: StateDirectory;
  accounts: EmbeddedAccounts;
  /** The user's environment; overrides the stack's variables. */
  env: Variables;
}>;

type Environment = Readonly<Record<string, string>>;
type Listener = Readonly<{ host: string; port: number }>;

/**
 * Derives ports, URLs and environments of the stack.
 *
 * @throws {SettingsError} when a service's variables are invalid.
 */
export function planStack({ directory, accounts, env: user }: StackPlanOptions): StackPlan {
  const all: Environment[] = [];
  const environment = (definition: SettingsDefinition, own: Environment) => {
    all.push(own);
    return buildChildEnvironment(preferFile(definition, own, user), user);
  };
  const pushgatewayOwn = { GATEHOUSE_PUSHGATEWAY_PERSISTENCE_FILE: directory.pushedMetrics };
  const pushgatewayEnv = environment(pushgatewaySettings, pushgatewayOwn);
  const pushgateway = readSettings(pushgatewaySettings, { env: pushgatewayEnv }).listen;
  const upstreamEnv = environment(upstreamSettings, {});
  const upstream = readSettings(upstreamSettings, { env: upstreamEnv }).listen;
  const devnetEnv = environment(devnetSettings, buildDevnetEnvironment(directory, pushgateway));
  const devnet = readSettings(devnetSettings, { env: devnetEnv });
  const chain = describeChain(devnet);
  const sidecarEnv = environment(sidecarSettings, buildSidecarEnvironment(directory, chain, formatUrl(pushgateway)));
  const sidecar = readSettings(sidecarSettings, { env: sidecarEnv });
  const facilitatorEnv = environment(facilitatorSettings, buildFacilitatorEnvironment(directory, chain));
  const facilitator = readSettings(facilitatorSettings, { env: useSignerKey(facilitatorEnv, directory, accounts) });
  const seller = { payee: accounts.payee.address, facilitatorUrl: formatUrl(facilitator.listen) };
  const resourceServerOwn = buildResourceServerEnvironment(directory, chain, seller);
  const resourceServerEnv = environment(resourceServerSettings, resourceServerOwn);
  const resourceServer = readSettings(resourceServerSettings, { env: resourceServerEnv });
  const scrapeTargets = buildScrapeTargets({
    sidecar: sidecar.listen,
    pushgateway,
    facilitator: facilitator.operations,
    "resource-server": resourceServer.operations,
  });
  // A Pushgateway has metrics but no page.
  const pages = scrapeTargets
    .filter(({ service }) => isOperatedService(service))
    .map(({ service, host, port }) => `${service}=http://${formatAuthority(host, port)}/`);
  const links = pages.join(",");
  return {
    chain,
    devnet,
    sale: {
      chainId: resourceServer.chain.id,
      token: resourceServer.token.address,
      payee: resourceServer.payTo,
    },
    urls: {
      upstream: formatUrl(upstream),
      sidecar: formatUrl(sidecar.listen),
      gateway: formatUrl(sidecar.gateway.public),
      facilitator: formatUrl(facilitator.listen),
      resourceServer: formatUrl(resourceServer.listen),
    },
    ports: listStackPorts({ devnet, pushgateway, upstream, sidecar, facilitator, resourceServer }),
    scraped: scrapeTargets,
    pages,
    unusedSettings: describeUnusedSettings(user, Object.assign({}, ...all) as Environment),
    environments: {
      pushgateway: selectServiceVariables("pushgateway", pushgatewayEnv),
      upstream: selectServiceVariables("upstream", upstreamEnv),
      sidecar: selectServiceVariables("sidecar", { GATEHOUSE_SIDECAR_LISTEN_PAGES: links, ...sidecarEnv }),
      facilitator: selectServiceVariables("facilitator", {
        GATEHOUSE_FACILITATOR_OPERATIONS_PAGES: links,
        ...facilitatorEnv,
      }),
      "resource-server": selectServiceVariables("resource-server", {
        GATEHOUSE_RESOURCE_SERVER_OPERATIONS_PAGES: links,
        ...resourceServerEnv,
      }),
    },
  };
}

function describeChain({ node, monitor, chain, workspace }: DevnetSettings): ChainInfo {
  return {
    workspace: resolve(workspace.directory),
    chainId: chain.id,
    token: tokenAddress,
    httpUrl: `http://${formatAuthority(node.listenHost, node.httpPort)}`,
    webSocketUrl: `ws://${formatAuthority(node.listenHost, node.webSocketPort)}`,
    version: node.version,
    jobName: monitor.jobName,
  };
}

function buildDevnetEnvironment({ node }: StateDirectory, pushgateway: Listener): Environment {
  return {
    GATEHOUSE_DEVNET_WORKSPACE_DIRECTORY: node,
    GATEHOUSE_DEVNET_CHAIN_MNEMONIC: embeddedMnemonic,
    GATEHOUSE_DEVNET_MONITOR_JOB_NAME: "gatehouse-devnet",
    GATEHOUSE_DEVNET_MONITOR_PUSH_ADDRESS: pushgateway.host,
    GATEHOUSE_DEVNET_MONITOR_PUSH_PORT: String(pushgateway.port),
    GATEHOUSE_DEVNET_MONITOR_PUSH_INTERVAL_SECONDS: "2",
  };
}

function buildSidecarEnvironment({ sidecar }: StateDirectory, chain: ChainInfo, pushgatewayUrl: string): Environment {
  return {
    GATEHOUSE_SIDECAR_NODE_WORKSPACE: chain.workspace,
    GATEHOUSE_SIDECAR_NODE_VERSION: chain.version,
    GATEHOUSE_SIDECAR_NODE_HTTP_URL: chain.httpUrl,
    GATEHOUSE_SIDECAR_NODE_WEB_SOCKET_URL: chain.webSocketUrl,
    GATEHOUSE_SIDECAR_NODE_CHAIN_ID: String(chain.chainId),
    ...(chain.jobName === undefined ? {} : { GATEHOUSE_SIDECAR_MONITOR_JOB_NAME: chain.jobName }),
    GATEHOUSE_SIDECAR_PUSHGATEWAY_URL: pushgatewayUrl,
    GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: sidecar,
    // The stack has just created the node, so no confirmation is needed.
    GATEHOUSE_SIDECAR_UPKEEP_MODE: "enforce",
    // The sidecar's commands need no option to find it: no other sidecar runs here.
    GATEHOUSE_SIDECAR_UPKEEP_COMMAND_PREFIX: formatOwnCommand(process.cwd()),
    // If the user kills the node while trying out the stack, it must recover while they watch.
    GATEHOUSE_SIDECAR_LAG_RESTART: "true",
    GATEHOUSE_SIDECAR_LAG_RESTART_AFTER_MS: "5000",
  };
}

function buildFacilitatorEnvironment({ facilitatorLedger, signerKey }: StateDirectory, chain: ChainInfo): Environment {
  return {
    GATEHOUSE_FACILITATOR_CHAIN_ID: String(chain.chainId),
    GATEHOUSE_FACILITATOR_CHAIN_RPC_URL: chain.httpUrl,
    GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY_FILE: signerKey,
    // No minAmount: on loopback, sellers try out their own prices, so no minimum is required.
    GATEHOUSE_FACILITATOR_ASSETS: JSON.stringify([{ address: chain.token, name: "USDC", version: "2" }]),
    GATEHOUSE_FACILITATOR_LEDGER_PATH: facilitatorLedger,
  };
}

/** Replaces the path of the stack's own key file with the key itself: the file is written only once nothing can be rejected. */
function useSignerKey(env: Environment, { signerKey }: StateDirectory, { signer }: EmbeddedAccounts): Environment {
  const { GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY_FILE: file, ...others } = env;
  return file === signerKey ? { ...others, GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY: signer.privateKey } : env;
}

function buildResourceServerEnvironment(
  { routes, claimsLedger }: StateDirectory,
  chain: ChainInfo,
  seller: Readonly<{ payee: Address; facilitatorUrl: string }>,
): Environment {
  return {
    GATEHOUSE_RESOURCE_SERVER_ROUTES_PATH: routes,
    GATEHOUSE_RESOURCE_SERVER_PAY_TO: seller.payee,
    GATEHOUSE_RESOURCE_SERVER_CHAIN_ID: String(chain.chainId),
    GATEHOUSE_RESOURCE_SERVER_TOKEN_ADDRESS: chain.token,
    GATEHOUSE_RESOURCE_SERVER_FACILITATOR_URL: seller.facilitatorUrl,
    GATEHOUSE_RESOURCE_SERVER_LEDGER_PATH: claimsLedger,
  };
}

/** Builds the targets for listeners as reached from this machine; a listener on all addresses is reached on loopback. */
function buildScrapeTargets(listeners: Readonly<Partial<Record<ScrapedService, Listener>>>): readonly ScrapeTarget[] {
  return listScrapedServices().flatMap((service) => {
    const listener = listeners[service];
    if (listener === undefined) return [];
    const row = stackServices[service];
    const labels = "honorLabels" in row ? { honorLabels: row.honorLabels } : {};
    const host = findReachedHost(listener.host);
    return [{ job: `gatehouse/${service}`, service, host, port: listener.port, ...labels }];
  });
}

function formatUrl({ host, port }: Listener): string {
  return `http://${formatAuthority(host, port)}`;
}
