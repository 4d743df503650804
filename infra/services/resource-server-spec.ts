import { findRouteProblems } from "#resource-server/routes/route.ts";
import { resourceServerSettings } from "#resource-server/settings.ts";
import { describeProblem } from "../config/config-problem.ts";
import { buildService, type BuiltService, type CommonArgs } from "./built-service.ts";
import { daemonHealth } from "./probes.ts";
import type { DeploymentSecret } from "../config/deployment-secret.ts";
import { listOperatorHosts, type Published } from "./published.ts";
import { buildLedgerStorage, type Database } from "./replication.ts";
import { liveFilesDirectory, type Replicas } from "./service-spec.ts";
import type { PublicProxies } from "./trusted-proxies.ts";
import { listUpstreamEdges } from "./upstream-edges.ts";
import { z } from "zod";
import { stackServices } from "../stack-services.ts";
import type { Token } from "./facilitator-spec.ts";

/** Paid routes, keyed by `<METHOD> <path>` (specification, "x402 route protection configuration"). */
export type Routes = Readonly<Record<string, unknown>>;

/** Tokens that the resource server sells and the gateway accepts: both use the same names. */
export type AccessTokens = Readonly<{
  /** Signing key, PEM (PKCS #8), Ed25519. */
  privateKey: DeploymentSecret | undefined;
  /** URL of the key set with which the gateway verifies tokens. */
  keySetUrl: string;
  issuer: string;
  audience: string;
}>;

export type ResourceServerArgs = CommonArgs &
  Readonly<{
    /** Ledger database shared by replicas. If absent, the ledger is a file used by a single process. */
    database?: Database | undefined;
    /** Default: one. */
    replicas?: Replicas | undefined;
    /** Whether changed settings trigger a hot restart inside the container. By default, the container or pod is replaced. */
    isHandedOver?: boolean | undefined;
    /** Whether a node may sync for days before it is ready, in which case updates don't wait for it. Default: no. */
    isReadyLate?: boolean | undefined;
    /** Links on its page, each `name=URL`; default: none. */
    pages?: readonly string[] | undefined;
    /** Host publication of the service; absent if it is not published. */
    published?: Published | undefined;
    chainId: number;
    payTo: string | undefined;
    token: Token | undefined;
    facilitatorUrl: string;
    /** Tokens that routes may sell, and their signing key. */
    accessTokens?: AccessTokens | undefined;
    routes: Routes;
    /** Public URL of the server, if it differs from the request URL. */
    publicUrl: string | undefined;
    /** Proxies in front of the server; undefined if clients connect directly. */
    publicProxies: PublicProxies | undefined;
  }>;

const { operations, ports } = stackServices["resource-server"];

const routesFile = "routes.json5";

/** The settings file, if a change to it triggers a hot restart. Settings that select the payment asset and the storage for claims stay in the environment. */
const hotRestartSettings = {
  file: "settings.json5",
  withSecrets: false,
  fixed: [["chain"], ["token"], ["ledger", "path"], ["settlement", "ledgerPath"]],
} as const;

/**
 * Builds the resource server. It is public, connects to the facilitator and the routes' upstreams, and stores its claims in the database or
 * on a retained volume.
 *
 * @example
 * import { resourceServerSpec, Service } from "gatehouse-evm/pulumi";
 *
 * // `args` are those of stackArgs().
 * const upstream = "http://upstream.example:4022";
 * const service = resourceServerSpec({
 *   ...args.resourceServer,
 *   routes: { "GET /data": { accepts: { scheme: "exact", price: "$0.01", network: "eip155:1672" }, upstream } },
 * });
 * console.log(service.problems); // []
 * new Service("ResourceServer", "resource-server", { platform, service });
 */
export function resourceServerSpec(args: ResourceServerArgs): BuiltService {
  const { accessTokens: tokens, isHandedOver = false } = args;
  const ledger = buildLedgerStorage(args.database, { service: "resource-server", file: "claims.sqlite", isHandedOver });
  const built = buildService(
    {
      name: "resource-server",
      image: "gatehouse",
      definition: resourceServerSettings,
      tree: {
        listen: { host: "0.0.0.0", port: ports.http, ...args.publicProxies },
        operations: {
          host: "0.0.0.0",
          port: ports.operations,
          pages: args.pages,
          ...listOperatorHosts("resource-server", args.published),
        },
        publicUrl: args.publicUrl,
        routesPath: `${liveFilesDirectory}/${routesFile}`,
        payTo: args.payTo,
        chain: { id: args.chainId },
        token: { ...args.token },
        facilitator: { url: args.facilitatorUrl },
        accessTokens: tokens && { privateKey: tokens.privateKey, issuer: tokens.issuer, audience: tokens.audience },
        ledger: ledger.settings,
        shutdown: { graceMs: 20_000 },
      },
      liveFiles: [{ name: routesFile, content: `${JSON.stringify(args.routes, undefined, 2)}\n`, secret: false }],
      handed: isHandedOver ? hotRestartSettings : undefined,
      ports: [
        { name: "http", number: ports.http, audience: "public" },
        { name: "operations", number: ports.operations, audience: "system" },
      ],
      volumes: ledger.volumes,
      edges: [
        { to: "facilitator", port: "http" },
        { to: "upstream", port: "http" },
        ...listUpstreamEdges(args.routes),
        ...ledger.edges,
      ],
      startsAfter: ["facilitator", "postgres", "upstream"],
      metrics: { port: operations },
      replicas: args.replicas,
      health: { ...daemonHealth, port: "operations", awaited: args.isReadyLate === true ? "live" : "ready" },
      limits: { cpus: 1, memoryMebibytes: 512 },
      stopGraceSeconds: 30,
    },
    args,
  );
  const refused = findRouteProblems(args.routes, `eip155:${args.chainId}`).map((wrong) =>
    describeProblem("routes", { wrong, remedy: ["Correct it", { kind: "set", key: keyOfRoute(wrong) }, "."] }),
  );
  return { ...built, problems: [...built.problems, ...refused] };
}

/** Returns the route key at the start of a problem; the operator chooses which of the route's fields to set. */
function keyOfRoute(problem: string): string {
  const [route = ""] = problem.split(": ");
  return /^[A-Z]+ \//.test(route) ? `routes["${route}"].…` : "routes";
}

const offer = z.object({ payTo: z.string().optional() });
const offering = z.object({ accepts: z.union([z.array(offer), offer]) });

/**
 * Lists the accounts that a stack's resource server may be paid to: its `payTo`, and the overrides in individual offers of its routes.
 * Skips malformed routes; the resource server's own schema rejects them.
 */
export function listPayees(payTo: string | undefined, routes: Routes): readonly string[] {
  const named = Object.values(routes).flatMap((route) => {
    const parsed = offering.safeParse(route);
    return parsed.success ? [parsed.data.accepts].flat().map((accepted) => accepted.payTo ?? payTo) : [];
  });
  const accounts = [payTo, ...named].filter((account) => account !== undefined);
  return [...new Map(accounts.map((account) => [account.toLowerCase(), account])).values()];
}
