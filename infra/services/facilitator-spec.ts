import { stackServices } from "../stack-services.ts";
import { facilitatorSettings, allowsZero } from "#facilitator/settings.ts";
import { buildService, readCommonArgs, type BuiltService, type CommonArgs } from "./built-service.ts";
import { describeProblem, setKey, type ConfigProblem } from "../config/config-problem.ts";
import type { StackConfig } from "../config/config-schema.ts";
import { findSignerKey } from "./node/dev-accounts.ts";
import { hasEntryPoint } from "./node/node-image.ts";
import { nodePorts } from "./node/node-layout.ts";
import { daemonHealth } from "./probes.ts";
import type { DeploymentSecret } from "../config/deployment-secret.ts";
import { findRenderedValue } from "./rendered-settings.ts";
import { buildLedgerStorage, findDatabase, type Database } from "./replication.ts";
import { listServicePages } from "./service-pages.ts";
import type { Replicas } from "./service-spec.ts";
import { computeMinAmount, findPayTo, findRoutes, findToken, listPayees, type Token } from "./sold-routes.ts";
import type { StackContext } from "./stack-context.ts";

export type FacilitatorArgs = CommonArgs &
  Readonly<{
    /** Ledger database shared by replicas; if absent, the ledger is a file that belongs to one process. */
    database?: Database | undefined;
    /** Number of replicas; default: one. */
    replicas?: Replicas | undefined;
    /** Whether a change to its settings triggers a hot restart in the container. By default, the container or pod is replaced. */
    isHandedOver?: boolean | undefined;
    /** Whether the service's node may sync for days before it is ready, so that updates don't wait for the service. Default: no. */
    isReadyLate?: boolean | undefined;
    /** Links on the service's page, each as `name=URL`; default: none. */
    pages?: readonly string[] | undefined;
    chainId: number;
    /** JSON-RPC endpoint of the chain's node. */
    rpcUrl: string;
    /** Key of the account that submits settlements; if it is missing, and the settings have no remote key, the facilitator's own schema rejects that. */
    signerPrivateKey: DeploymentSecret | undefined;
    /** Tokens accepted for payments. Each needs a min amount, unless every caller has an API key. */
    tokens: readonly Token[];
    /** Accounts that may be paid: the signer does not pay gas for any other payee. */
    payees: readonly string[];
  }>;

const { operations, ports } = stackServices.facilitator;

/**
 * Settings file whose change triggers a hot restart. Settings that select the chain and the ledger stay in the environment: two processes
 * may settle concurrently only through the same ledger.
 */
const hotRestartSettings = {
  file: "settings.json5",
  withSecrets: false,
  fixed: [
    ["chain", "id"],
    ["chain", "rpcUrl"],
    ["ledger", "path"],
  ],
} as const;

/** Problem of a missing key, with the remedy for the stack's configuration instead of the service's own. */
const missingKey = describeProblem(
  "signerPrivateKey",
  "missing; expected the key of the account that submits settlements and pays their gas.",
  "Set it",
  setKey("signerPrivateKey", { secret: true, value: "" }),
  ", or use the devnet's own",
  setKey("devAccounts", { value: "true" }),
  ".",
);

/**
 * Builds the facilitator: reachable only from the resource server, connecting only to the node, with its ledger in a database or on a
 * retained volume.
 *
 * @example
 * import { deploymentSecret, facilitatorSpec, Service } from "gatehouse-evm/pulumi";
 *
 * const service = facilitatorSpec({
 *   chainId: 1672,
 *   rpcUrl: "http://node.example:8545",
 *   signerPrivateKey: deploymentSecret(signerKey),
 *   tokens: [{ address: token, name: "USDC", version: "2", minAmount: 10_000 }],
 *   payees: [payee],
 * });
 * console.log(service.problems); // []
 * new Service("Facilitator", "facilitator", { platform, service });
 */
export function facilitatorSpec(args: FacilitatorArgs): BuiltService {
  const { isHandedOver = false } = args;
  const place = { service: "facilitator", file: "facilitator.sqlite", isHandedOver };
  const ledger = buildLedgerStorage(args.database, place);
  const built = buildService(
    {
      name: "facilitator",
      image: "gatehouse",
      definition: facilitatorSettings,
      tree: {
        listen: { host: "0.0.0.0", port: ports.http },
        operations: { host: "0.0.0.0", port: ports.operations, pages: args.pages },
        chain: { id: args.chainId, rpcUrl: args.rpcUrl },
        signer: { privateKey: args.signerPrivateKey },
        assets: args.tokens,
        payees: args.payees,
        ledger: ledger.settings,
        shutdown: { graceMs: 20_000 },
      },
      hotRestart: isHandedOver ? hotRestartSettings : undefined,
      ports: [
        { name: "http", number: ports.http, audience: "system" },
        { name: "operations", number: ports.operations, audience: "system" },
      ],
      volumes: ledger.volumes,
      edges: [
        { to: "node", port: "http" },
        ...ledger.edges,
        ...(findRenderedValue(args.settings ?? {}, ["signer", "kmsKeys"]) === undefined
          ? []
          : [{ to: "internet" } as const]),
      ],
      startsAfter: ["node", "postgres"],
      metrics: { port: operations },
      replicas: args.replicas,
      health: { ...daemonHealth, port: "operations", waitFor: args.isReadyLate === true ? "live" : "ready" },
      limits: { cpus: 1, memoryMebibytes: 512 },
      stopGraceSeconds: 30,
    },
    args,
  );
  const problems = built.problems.map((problem) =>
    args.signerPrivateKey === undefined && problem.key.endsWith(".signer.privateKey") ? missingKey : problem,
  );
  return { ...built, problems: [...problems, ...findUnlimitedTokens(args)] };
}

/**
 * Reports tokens for which the facilitator would settle even one smallest unit for any caller; the facilitator also rejects them at
 * startup.
 */
function findUnlimitedTokens({ tokens, settings = {} }: FacilitatorArgs): readonly ConfigProblem[] {
  const { apiKeys, openToAnybody } = settings;
  if (apiKeys !== undefined || openToAnybody === true || settings["assets"] !== undefined) return [];
  return tokens
    .filter(allowsZero)
    .map(({ address }) =>
      describeProblem(
        "settings.facilitator.assets",
        `no route has an exact price in ${address}, so the signer would pay gas even for payments of one smallest unit.`,
        "Add a route that is sold for it, or set the token here with its minAmount, the lowest amount to settle.",
      ),
    );
}

export function readFacilitatorArgs(config: StackConfig, context: StackContext): FacilitatorArgs {
  const { addresses, restart, secret } = context;
  const signer = findSignerKey(config);
  const token = findToken(config);
  const routes = findRoutes(config, addresses);
  // Only the stack's own resource server reaches the facilitator.
  const minAmount = token && computeMinAmount(routes, config.chainId, token.address);
  return {
    chainId: config.chainId,
    rpcUrl: `http://${addresses.node}:${nodePorts.http}`,
    signerPrivateKey: signer === undefined ? undefined : secret(signer),
    tokens: token === undefined ? [] : [{ ...token, ...(minAmount === undefined ? {} : { minAmount }) }],
    payees: listPayees(findPayTo(config), routes),
    database: findDatabase(config, context),
    replicas: config.facilitatorReplicas,
    isHandedOver: restart.driver === "docker",
    isReadyLate: hasEntryPoint(config),
    pages: listServicePages(config),
    ...readCommonArgs(config, "facilitator"),
  };
}
