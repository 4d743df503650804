import { createECDH } from "node:crypto";
import * as Address from "ox/Address";
import * as PublicKey from "ox/PublicKey";
import { z } from "zod";
import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import { quoteShellWord } from "#daemon/command-line/shell-word.ts";
import { formatAuthority } from "#daemon/http/address.ts";
import { findServiceRow, stackServices } from "./stack-services.ts";
import { operatorPaths } from "#daemon/http/operator-paths.ts";
import type { StackConfig } from "./config/config-schema.ts";
import { findPublicHosts } from "./config/exposure.ts";
import type { DeploymentSecret } from "./config/deployment-secret.ts";
import { devAccounts, findSignerKey } from "./services/node/dev-accounts.ts";
import { isOptionalService } from "./services/optional-services.ts";
import { listHostPorts, type HostPort } from "./services/host-ports.ts";
import { deriveGrafanaPassword } from "./services/observability/observability-args.ts";
import { findRenderedValue } from "./services/rendered-settings.ts";

/** Human-readable output of `pulumi up`: URLs by audience, commands to try, the account to fund. */
export type StackOutputs = Readonly<{
  urls: Readonly<Record<"public" | "tokenHolders" | "operations", Readonly<Record<string, string>>>>;
  tryThis: readonly string[];
  /** Account that pays the gas of settlements; without an address if only remote keys sign. */
  signer: Readonly<{ address?: string; howToFund: string }>;
}>;

/** Where users and operators reach a stack on its target, and how to try it. */
type Endpoints = Readonly<{
  /** Public URL of the gateway; absent if the stack has no public access. */
  gateway?: string;
  resourceServer?: string;
  privateGateway: string;
  status: string;
  sales: string;
  pushgateway: string;
  formatServiceUrl: (port: HostPort) => string;
  tryThis: readonly string[];
}>;

/** Builds a stack's outputs. Includes addresses, never keys. */
export function buildStackOutputs(config: StackConfig): StackOutputs {
  const { gateway, resourceServer, privateGateway, status, sales, pushgateway, formatServiceUrl, tryThis } =
    config.target === "docker" ? listDockerEndpoints(config) : listKubernetesEndpoints(config);
  const optional = listHostPorts(config).filter(({ service, at }) => isOptionalService(service) && at === "loopback");
  return {
    urls: {
      public: {
        ...(gateway === undefined ? {} : { gateway, gatewayWebSocket: gateway.replace("http", "ws") }),
        ...(resourceServer === undefined ? {} : { resourceServer }),
      },
      tokenHolders: { privateGateway },
      operations: {
        status: `${status}/status`,
        metrics: `${status}/metrics`,
        ready: `${status}${operatorPaths.ready}`,
        resourceServerMetrics: `${sales}/metrics`,
        resourceServerReady: `${sales}${operatorPaths.ready}`,
        ...Object.fromEntries(optional.map((port) => [port.as, formatServiceUrl(port)])),
        pushgateway: new URL("/metrics", config.pushgatewayUrl ?? pushgateway).href,
      },
    },
    tryThis,
    signer: buildSignerOutput(config),
  };
}

function listDockerEndpoints(config: StackConfig): Endpoints {
  const gateway = `http://${formatAuthority(config.publishAddress, config.gatewayPort)}`;
  const resourceServer = `http://${formatAuthority(config.publishAddress, config.resourceServerPort)}`;
  const status = formatLoopbackUrl(config.statusPort);
  const body = `'{"jsonrpc":"2.0","method":"eth_blockNumber","params":[],"id":1}'`;
  return {
    gateway,
    resourceServer,
    privateGateway: formatLoopbackUrl(config.privateGatewayPort),
    status,
    sales: formatLoopbackUrl(config.resourceServerOperationsPort),
    pushgateway: formatLoopbackUrl(config.pushgatewayPort),
    formatServiceUrl: ({ number }) => formatLoopbackUrl(number),
    tryThis: [
      `curl -s ${gateway} -H 'Content-Type: application/json' -d ${body}`,
      formatUnpaidRequest(config, resourceServer),
      `curl -s ${status}/status`,
      ...listPurchaseCommands(config, { gateway, server: resourceServer }),
    ],
  };
}

function listKubernetesEndpoints(config: StackConfig): Endpoints {
  const { ports: sidecar } = stackServices.sidecar;
  const { ports: server } = stackServices["resource-server"];
  const hosts = findPublicHosts(config);
  const forward = `kubectl -n ${config.namespace} port-forward service`;
  const [gateway, resourceServer] =
    hosts === undefined ? [] : [`https://${hosts.gatewayHost}`, `https://${hosts.resourceServerHost}`];
  return {
    ...(gateway === undefined ? {} : { gateway }),
    ...(resourceServer === undefined ? {} : { resourceServer }),
    privateGateway: `http://gateway:${sidecar["private-rpc"]}`,
    status: `http://sidecar-status:${sidecar.status}`,
    sales: `http://resource-server:${server.operations}`,
    pushgateway: `http://pushgateway:${stackServices.pushgateway.ports.http}`,
    formatServiceUrl: ({ service, port }) => `http://${service}:${findServiceRow(service).ports[port]}`,
    tryThis: [
      gateway === undefined ? `${forward}/gateway ${sidecar.rpc}` : `curl -s ${gateway}`,
      resourceServer === undefined
        ? `${forward}/resource-server ${server.http}`
        : formatUnpaidRequest(config, resourceServer),
      `${forward}/sidecar-status ${sidecar.status}`,
      ...listPurchaseCommands(config, {
        gateway: gateway ?? formatLoopbackUrl(sidecar.rpc),
        server: resourceServer ?? formatLoopbackUrl(server.http),
      }),
    ],
  };
}

function formatLoopbackUrl(port: number): string {
  return `http://127.0.0.1:${port}`;
}

const pricedRoute = z.object({ accepts: z.object({ price: z.string().startsWith("$") }) });

/**
 * Lists the commands that buy the first paid route of a stack, using the devnet's account or the reader's own. Pulumi displays only 150
 * characters of each, too few for this program's whole path.
 */
function listPurchaseCommands(
  { devAccounts: isDev, routes, tokenAddress, chainId }: StackConfig,
  { gateway, server }: Readonly<{ gateway: string; server: string }>,
) {
  const { method, path, sold } = findFirstRoute(routes);
  const price = (pricedRoute.safeParse(sold).data ?? sampleOffer).accepts.price.slice(1);
  const options = [
    ...(method === "GET" ? [] : [`--method ${method}`]),
    `--max-amount ${price} --asset ${tokenAddress} --rpc-url ${gateway}`,
    ...(chainId === 1_672 ? [] : [`--network eip155:${chainId}`]),
    ...(isDev ? [] : ["--key-file <payer's key>"]),
  ];
  const gatehouse = formatOwnCommand();
  return [
    ...(gatehouse === "gatehouse" ? [] : [`alias gatehouse=${quoteShellWord(gatehouse)}`]),
    ...(isDev ? [`export GATEHOUSE_PAY_SIGNER_PRIVATE_KEY=${devAccounts.payer.privateKey}`] : []),
    `gatehouse pay ${server}${path} ${options.join(" ")}`,
  ];
}

/** Formats an unpaid request to the first route; the response contains the price. */
function formatUnpaidRequest({ routes }: StackConfig, server: string): string {
  const { method, path } = findFirstRoute(routes);
  return `curl -si${method === "GET" ? "" : ` -X ${method}`} ${server}${path}`;
}

function findFirstRoute(routes: StackConfig["routes"]) {
  const [[route, sold] = ["GET /data", sampleOffer]] = Object.entries(routes);
  const [method = "", path = ""] = route.split(" ");
  return { method, path, sold };
}

const sampleOffer = { accepts: { price: "$0.01" } };

export function buildGrafanaOutput(
  config: StackConfig,
  { prefix, secret }: Readonly<{ prefix: string; secret: (text: string) => DeploymentSecret }>,
): Readonly<{ user: string; password: DeploymentSecret["value"] }> | undefined {
  if (config.observability?.grafana === undefined) return undefined;
  const password = deriveGrafanaPassword(config, prefix);
  return password === undefined ? undefined : { user: "admin", password: secret(password).value };
}

/** Builds the address of the account that pays the facilitator's gas, with instructions for funding it. */
export function buildSignerOutput(config: StackConfig): StackOutputs["signer"] {
  // The stack's own setting for the service takes precedence, as it does in the service.
  const set = findRenderedValue(config.settings.facilitator ?? {}, ["signer", "privateKey"]);
  const key = typeof set === "string" ? set : findSignerKey(config);
  if (key === undefined) {
    const howToFund = `Send native currency of chain ${config.chainId} to the accounts of its remote keys; the facilitator logs them at startup, and /supported lists them.`;
    return { howToFund };
  }
  const address = deriveAddress(key);
  return {
    address,
    howToFund:
      address === devAccounts.signer.address
        ? "The devnet funds this account; no action needed."
        : `Send native currency of chain ${config.chainId} to ${address}: it pays the gas of every settlement.`,
  };
}

/**
 * Derives an account's address from its key; of several keys, the first counts. Uses the machine's own library for the curve arithmetic,
 * because it loads a tenth of a second faster.
 */
function deriveAddress(privateKeys: string): string {
  const curve = createECDH("secp256k1");
  curve.setPrivateKey(/[0-9a-f]{64}/i.exec(privateKeys)?.[0] ?? "", "hex");
  return Address.fromPublicKey(PublicKey.fromHex(`0x${curve.getPublicKey("hex")}`), { checksum: true });
}
