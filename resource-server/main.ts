import { createAuditLog } from "#daemon/audit/audit-log.ts";
import { createApp } from "#daemon/http/app.ts";
import { FairSlots } from "#daemon/fair-shares.ts";
import { listenHttp } from "#daemon/http/listener.ts";
import { listenForOperations } from "#daemon/http/operations-listener.ts";
import { followPort, evaluateReadiness } from "#daemon/http/readiness.ts";
import { MemoryBudget, readMemoryLimits } from "#daemon/memory/memory-budget.ts";
import { findClientAddress, type ClientAddress } from "#daemon/http/proxies/client-address.ts";
import type { Service, ServiceContext } from "#daemon/service.ts";
import { createServicePage } from "#status/page/service-page.ts";
import { toEnvironmentName } from "#daemon/settings/leaf.ts";
import { openClaimLedger } from "./claims/open-claim-ledger.ts";
import { createDrainSignal } from "./drain-time.ts";
import { completeRoutes } from "./facilitators/completed-offers.ts";
import { openChannels } from "./channels/open-channels.ts";
import { openFacilitation } from "./facilitators/open-facilitation.ts";
import { createHttpClient } from "./http-client.ts";
import { formatSpendControls } from "./payment-answers.ts";
import { createSelling } from "./sold-request.ts";
import { createPaymentMetrics } from "./sale/payment-metrics.ts";
import { keepResponses } from "./claims/retained-responses.ts";
import { allowOtherOrigins, createSellingPort } from "./selling-port.ts";
import { createPaymentOwners } from "./claims/payment-owners.ts";
import { createPaymentCopies } from "./sale/payment-copies.ts";
import type { Route } from "./routes/route.ts";
import { openSoldRoutes } from "./sold-routes.ts";
import { limitSales, createClaimSearch, guardSale } from "./sale/guarded-sale.ts";
import { sell, type SellingDependencies } from "./sale/sale.ts";
import { describeResourceServerApi } from "./resource-server-api.ts";
import { resourceServerSettings, type ResourceServerSettings } from "./settings.ts";
import { deriveResponseBounds } from "./response-memory.ts";
import { resumeSettlements } from "./sale/settlement-resumer.ts";
import { createSoldWork, createUpstream } from "./upstream/upstream.ts";
import { openTokenIssuer } from "./token-issuer.ts";
import { limitProcessConnections } from "#daemon/http/connections/connection-budget.ts";

/** Sells protected routes with x402: verifies, forwards to the upstream, settles, delivers (specification, "x402 resource server"). */
export const resourceServer: Service<typeof resourceServerSettings.schema> = {
  definition: resourceServerSettings,
  start,
};

async function start(settings: ResourceServerSettings, context: ServiceContext) {
  const { log, metrics: registry, mask, resources, isHandedOver, yields } = context;
  const clock = Date.now;
  const routes = resources.use(await openSoldRoutes(settings, context));
  const issuer = await openTokenIssuer(routes.current(), settings.accessTokens, { clock });
  const signal = createDrainSignal(context.signal, settings.shutdown.graceMs);
  const client = createHttpClient({ signal });
  const claims = resources.use(await openClaimLedger(settings.ledger, { clock, log, isHandedOver }));
  const audit = createAuditLog(log);
  const { ledger } = claims;
  const facilitating = { client, log, metrics: registry, clock, signal, audit, isHandedOver, yields };
  const facilitator = resources.use(await openFacilitation(settings, routes, facilitating));
  const facilitation = resources.use(await openChannels(settings, routes, facilitator, { ...facilitating, ...claims }));
  const find = completeRoutes(routes, facilitation.supported);
  const owners = createPaymentOwners();
  const metrics = createPaymentMetrics({ ledger, owners, registry });
  const sale = { ledger, facilitation, owners, copies: createPaymentCopies(), onSettled: metrics.charge, clock, audit };
  const responses = keepResponses({ bytesMax: settings.ledger.responseBytes }, ledger);
  const port = followPort(context.signal);
  const readiness = () =>
    evaluateReadiness({ facilitator: facilitation.readiness(), ledger: claims.readiness(), sales: port.check() });
  const connections = resources.use(limitProcessConnections(settings.listen, { metrics: registry }));
  // Opened before the selling port, so that it outlives it and shows the shutdown while in-flight purchases complete.
  const operations = resources.use(
    await listenForOperations(
      { ...settings.operations, setting: nameSetting("operations", "port"), connections: connections.operators() },
      {
        log,
        metrics: registry,
        readiness,
        mask,
        configuration: context.configuration,
        api: describeResourceServerApi(settings, { sellsTokens: issuer !== undefined }),
        addPage: createPage(settings, routes.current),
      },
    ),
  );

  const address = findClientAddress(settings.listen);
  const { bodyLimitBytes } = settings.listen;
  const app = createApp({ bodyLimitBytes, crossOrigin: allowOtherOrigins }, { log, metrics: registry });
  app.get("/health", (c) => c.json({ status: "ok" }));
  if (issuer !== undefined) app.get("/.well-known/jwks.json", (c) => c.json(issuer.keySet));
  const serveSold = createSelling(
    { find, publicUrl: settings.publicUrl, ...settings.listen, ...settings.payment, client: address },
    {
      settlesNothing: facilitation.settlesNothing,
      findClaim: createClaimSearch(ledger),
      sell: sellWithin(settings.payment, { ...sale, responses }),
      memory: new MemoryBudget(deriveResponseBounds(settings, readMemoryLimits())),
      work: createSoldWork(createUpstream(settings.upstream, { client, signal }), issuer),
      metrics,
      log,
    },
  );
  const listener = resources.use(
    await listenHttp(createSellingPort(app, { find, serveSold, bodyLimitBytes, metrics: registry, log }), {
      ...buildSellingPort(settings.listen, address),
      connections: connections.listener({ name: "resource-server" }),
    }),
  );
  resources.use(
    resumeSettlements(
      { intervalMs: settings.payment.resumeIntervalMs, retentionMs: settings.ledger.retentionSeconds * 1_000 },
      { ...sale, responses, log },
    ),
  );
  port.opened();
  context.leaves(async () => void (await Promise.all([operations.leave(), listener.leave()])));
  const urls = { "resource-server": listener.url, "resource-server-operations": operations.url };
  return { urls, announced: { url: operations.url } };
}

function createPage({ payTo, operations }: ResourceServerSettings, listRoutes: () => readonly Route[]) {
  const networks = new Set(listRoutes().flatMap(({ accepts }) => accepts.map(({ network }) => network)));
  const tags = ["sells HTTP routes over x402", `paid to ${payTo}`, ...networks];
  const describeBuyers = () => formatSpendControls(listRoutes().flatMap(({ accepts }) => accepts));
  const page = { service: "resource-server", tags, pages: operations.pages } as const;
  return createServicePage({ ...page, describeBuyers });
}

/** Sells within the limits of in-flight payments; at most half of them may await a verdict. */
function sellWithin({ inFlightMax }: ResourceServerSettings["payment"], sale: Omit<SellingDependencies, "unverified">) {
  const unverified = new FairSlots(Math.ceil(inFlightMax / 2));
  return limitSales(
    new FairSlots(inFlightMax),
    guardSale((request) => sell(request, { ...sale, unverified })),
  );
}

/** Builds the options of the selling port, including the proxies in front of it. */
function buildSellingPort(
  { host, port, requestTimeoutMs, proxyProtocol }: ResourceServerSettings["listen"],
  { isTrusted }: ClientAddress,
) {
  const options = { host, port, requestTimeoutMs, setting: nameSetting("listen", "port"), isProxy: isTrusted };
  return proxyProtocol ? { ...options, isTrustedProxy: isTrusted } : options;
}

function nameSetting(...path: readonly string[]): string {
  return toEnvironmentName(resourceServerSettings.service, path);
}
