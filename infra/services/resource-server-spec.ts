import { findOwnUpstreams } from "#resource-server/routes/own-upstream.ts";
import { findRouteProblems } from "#resource-server/routes/route.ts";
import { resourceServerSettings } from "#resource-server/settings.ts";
import { describeProblem, setKey } from "../config/config-problem.ts";
import type { StackConfig } from "../config/config-schema.ts";
import { findPublicHosts } from "../config/exposure.ts";
import { stackServices } from "../stack-services.ts";
import { deriveAccessTokens } from "./access-tokens.ts";
import { buildService, readCommonArgs, type BuiltService } from "./built-service.ts";
import { hasEntryPoint } from "./node/node-image.ts";
import { daemonHealth } from "./probes.ts";
import { buildLedgerStorage, findDatabase } from "./replication.ts";
import { listServicePages } from "./service-pages.ts";
import { liveFilesDirectory } from "./service-spec.ts";
import { findPayTo, findRoutes, findToken } from "./sold-routes.ts";
import { listOperatorHosts, type StackContext } from "./stack-context.ts";
import { findPublicProxies } from "./trusted-proxies.ts";
import { listUpstreamEdges } from "./upstream-edges.ts";

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
 */
export function buildResourceServerSpec(config: StackConfig, context: StackContext): BuiltService {
  const { addresses, restart } = context;
  // A cluster rolls pods; a Docker host has one container per service, in which a new process replaces the old one.
  const isHandedOver = restart.driver === "docker";
  const ledger = buildLedgerStorage(findDatabase(config, context), {
    service: "resource-server",
    file: "claims.sqlite",
    isHandedOver,
  });
  const routes = findRoutes(config, addresses);
  const { privateKey, issuer, audience } = deriveAccessTokens(config, context);
  const built = buildService(
    {
      name: "resource-server",
      image: "gatehouse",
      definition: resourceServerSettings,
      tree: {
        listen: { host: "0.0.0.0", port: ports.http, ...findPublicProxies(config) },
        operations: {
          host: "0.0.0.0",
          port: ports.operations,
          pages: listServicePages(config),
          ...listOperatorHosts("resource-server", context.published),
        },
        publicUrl: findPublicUrl(config),
        routesPath: `${liveFilesDirectory}/${routesFile}`,
        payTo: findPayTo(config),
        chain: { id: config.chainId },
        token: { ...findToken(config) },
        facilitator: { url: `http://${addresses.facilitator}:${stackServices.facilitator.ports.http}` },
        accessTokens: { privateKey, issuer, audience },
        ledger: ledger.settings,
        shutdown: { graceMs: 20_000 },
      },
      liveFiles: [{ name: routesFile, content: `${JSON.stringify(routes, undefined, 2)}\n`, secret: false }],
      hotRestart: isHandedOver ? hotRestartSettings : undefined,
      ports: [
        { name: "http", number: ports.http, audience: "public" },
        { name: "operations", number: ports.operations, audience: "system" },
      ],
      volumes: ledger.volumes,
      edges: [
        { to: "facilitator", port: "http" },
        { to: "upstream", port: "http" },
        ...listUpstreamEdges(routes),
        ...ledger.edges,
      ],
      startsAfter: ["facilitator", "postgres", "upstream"],
      metrics: { port: operations },
      replicas: config.resourceServerReplicas,
      health: { ...daemonHealth, port: "operations", waitFor: hasEntryPoint(config) ? "live" : "ready" },
      limits: { cpus: 1, memoryMebibytes: 512 },
      stopGraceSeconds: 30,
    },
    readCommonArgs(config, "resource-server"),
  );
  const own = { hosts: ["0.0.0.0", addresses["resource-server"]], port: ports.http };
  const rejected = [...findRouteProblems(routes, `eip155:${config.chainId}`), ...findOwnUpstreams(routes, own)].map(
    (wrong) => describeProblem("routes", wrong, "Correct it", setKey(keyOfRoute(wrong)), "."),
  );
  return { ...built, problems: [...built.problems, ...rejected] };
}

/** Returns the route key at the start of a problem; which of the route's fields to set is up to the operator. */
function keyOfRoute(problem: string): string {
  const [route = ""] = problem.split(": ");
  return /^[A-Z]+ \//.test(route) ? `routes["${route}"].…` : "routes";
}

function findPublicUrl(config: StackConfig): string | undefined {
  const hosts = findPublicHosts(config);
  return config.publicUrl ?? (hosts === undefined ? undefined : `https://${hosts.resourceServerHost}`);
}
