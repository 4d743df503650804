import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import type { Address } from "viem";
import type { StateDirectory } from "./state-directory.ts";

/** A service's own settings, as environment variables. */
export type ServiceEnvironment = Readonly<Record<string, string>>;

/** Chain of the embedded stack, and its endpoints. */
export type ChainInfo = Readonly<{
  chainId: number;
  token: Address;
  httpUrl: string;
  webSocketUrl: string;
  version: string;
  /** Job name under which the node pushes its metrics. */
  jobName: string | undefined;
}>;

/** Builds the devnet's settings in the embedded stack. */
export function buildDevnetEnvironment(
  { node }: StateDirectory,
  mnemonic: string,
  pushgateway: Readonly<{ host: string; port: number }>,
): ServiceEnvironment {
  return {
    GATEHOUSE_DEVNET_WORKSPACE_DIRECTORY: node,
    GATEHOUSE_DEVNET_CHAIN_MNEMONIC: mnemonic,
    GATEHOUSE_DEVNET_MONITOR_JOB_NAME: "gatehouse-devnet",
    GATEHOUSE_DEVNET_MONITOR_PUSH_ADDRESS: pushgateway.host,
    GATEHOUSE_DEVNET_MONITOR_PUSH_PORT: String(pushgateway.port),
    GATEHOUSE_DEVNET_MONITOR_PUSH_INTERVAL_SECONDS: "2",
  };
}

/** Builds the Pushgateway's settings in the embedded stack. */
export function buildPushgatewayEnvironment({ pushedMetrics }: StateDirectory): ServiceEnvironment {
  return { GATEHOUSE_PUSHGATEWAY_PERSISTENCE_FILE: pushedMetrics };
}

/** Builds the sidecar's settings in the embedded stack. */
export function buildSidecarEnvironment(
  { node, sidecar }: StateDirectory,
  chain: ChainInfo,
  pushgatewayUrl: string,
): ServiceEnvironment {
  return {
    GATEHOUSE_SIDECAR_NODE_WORKSPACE: node,
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
    // If the user kills the node while trying the stack, it must recover while they watch.
    GATEHOUSE_SIDECAR_LAG_RESTART: "true",
    GATEHOUSE_SIDECAR_LAG_RESTART_AFTER_MS: "5000",
  };
}

/** Builds the facilitator's settings in the embedded stack. */
export function buildFacilitatorEnvironment(
  { facilitatorLedger }: StateDirectory,
  chain: ChainInfo,
  signerKeyFile: string,
): ServiceEnvironment {
  return {
    GATEHOUSE_FACILITATOR_CHAIN_ID: String(chain.chainId),
    GATEHOUSE_FACILITATOR_CHAIN_RPC_URL: chain.httpUrl,
    GATEHOUSE_FACILITATOR_CHAIN_WEB_SOCKET_URL: chain.webSocketUrl,
    GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY_FILE: signerKeyFile,
    GATEHOUSE_FACILITATOR_ASSETS: JSON.stringify([{ address: chain.token, name: "USDC", version: "2" }]),
    GATEHOUSE_FACILITATOR_LEDGER_PATH: facilitatorLedger,
  };
}

/** Builds the resource server's settings in the embedded stack. */
export function buildResourceServerEnvironment(
  { routes, claimsLedger }: StateDirectory,
  chain: ChainInfo,
  seller: Readonly<{ payee: Address; facilitatorUrl: string }>,
): ServiceEnvironment {
  return {
    GATEHOUSE_RESOURCE_SERVER_ROUTES_PATH: routes,
    GATEHOUSE_RESOURCE_SERVER_PAY_TO: seller.payee,
    GATEHOUSE_RESOURCE_SERVER_CHAIN_ID: String(chain.chainId),
    GATEHOUSE_RESOURCE_SERVER_TOKEN_ADDRESS: chain.token,
    GATEHOUSE_RESOURCE_SERVER_FACILITATOR_URL: seller.facilitatorUrl,
    GATEHOUSE_RESOURCE_SERVER_LEDGER_PATH: claimsLedger,
  };
}
