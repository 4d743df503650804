import { createAuditLog } from "#daemon/audit/audit-log.ts";
import { systemClock } from "#daemon/clock.ts";
import { createApp } from "#daemon/http/app.ts";
import { limitProcessConnections } from "#daemon/http/connections/connection-budget.ts";
import { listenHttp } from "#daemon/http/listener.ts";
import { listenForOperations } from "#daemon/http/operations-listener.ts";
import { findClientAddress, type ClientAddress } from "#daemon/http/proxies/client-address.ts";
import {
  checkFiles,
  evaluateReadiness,
  trackPort,
  type PortState,
  type ReadinessCheck,
} from "#daemon/http/readiness.ts";
import type { ActiveFiles } from "#daemon/files/active-files.ts";
import {
  deriveMemoryBounds,
  MemoryBudget,
  readMemoryLimits,
  type MemoryBudgetOptions,
  type MemoryLimits,
} from "#daemon/memory/memory-budget.ts";
import type { Service, ServiceContext } from "#daemon/service.ts";
import { createServicePage } from "#status/page/service-page.ts";
import { openChannels } from "./channels/open-channels.ts";
import { openClaimLedger } from "./claims/open-claim-ledger.ts";
import { createDrainSignal } from "./drain-time.ts";
import { completeRoutes } from "./facilitators/completed-offers.ts";
import type { Facilitation } from "./facilitators/facilitation.ts";
import { openFacilitation } from "./facilitators/open-facilitation.ts";
import { createHttpClient } from "#daemon/http/http-client.ts";
import { formatSpendControls } from "./payment-answers.ts";
import { describeResourceServerApi } from "./resource-server-api.ts";
import type { Route } from "./routes/route.ts";
import { openSoldRoutes } from "./routes/sold-routes.ts";
import { createPaymentMetrics } from "./sale/payment-metrics.ts";
import { createPaymentsInFlight } from "./sale/claim-settlement.ts";
import { createSales } from "./sale/sale.ts";
import { resumeSettlements } from "./sale/resume-settlements.ts";
import { allowOtherOrigins, createSellingPort } from "./selling-port.ts";
import { nameSetting, resourceServerSettings, type ResourceServerSettings } from "./settings.ts";
import { createSelling } from "./sold-request.ts";
import { openTokenIssuer } from "./upstream/token-issuer.ts";
import { createUpstreamWatch, type UpstreamWatch } from "./upstream/upstream-watch.ts";
import { createUpstream } from "./upstream/upstream.ts";

/** Sells protected routes with x402: verifies, forwards to the upstream, settles, delivers (specification, "x402 resource server"). */
export const resourceServer: Service<typeof resourceServerSettings.schema> = {
  definition: resourceServerSettings,
  start,
};

async function start(settings: ResourceServerSettings, context: ServiceContext) {
  const { log, metrics: registry, mask, resources, isHandedOver, yields } = context;
  const clock = systemClock.wallMs;
  const routes = resources.use(await openSoldRoutes(settings, context));
  const issuer = await openTokenIssuer(routes.current(), settings.accessTokens, clock);
  const signal = createDrainSignal(context.signal, settings.shutdown.graceMs);
  const client = createHttpClient({ signal });
  const claims = resources.use(await openClaimLedger(settings.ledger, { clock: systemClock, log, isHandedOver }));
  const { ledger, channels } = claims;
  const audit = createAuditLog(log);
  const parts = { client, log, metrics: registry, clock, signal, audit, isHandedOver, yields };
  const facilitator = resources.use(await openFacilitation(settings, routes, parts));
  const facilitation = resources.use(
    await openChannels(settings, routes, facilitator, { ledger: channels, clock, log, registry }),
  );
  const find = completeRoutes(routes, facilitation.supported);
  const payments = createPaymentsInFlight();
  const metrics = createPaymentMetrics({ ledger, payments, registry });
  const sale = { ledger, facilitation, payments, onSettled: metrics.charge, clock, audit, log };
  const port = trackPort(context.signal);
  const isSettlingPaused = () => facilitation.isSettlingPaused() || !claims.readiness().ok;
  const upstreams = createUpstreamWatch(settings.upstream, { client, listRoutes: routes.current, signal });
  const readiness = createReadiness({ facilitation, claims, upstreams, port, files: context.files, isSettlingPaused });
  const connections = resources.use(limitProcessConnections(settings.listen, { metrics: registry }));
  // Opened before the selling port, so that it closes later and reports the shutdown while purchases in flight complete.
  const operations = resources.use(
    await listenForOperations(
      { ...settings.operations, setting: nameSetting("operations", "port"), connections: connections.operators() },
      {
        log,
        metrics: registry,
        readiness,
        mask,
        configuration: context.configuration,
        api: () => describeResourceServerApi(settings, { sellsTokens: issuer !== undefined }),
        addPage: createPage(settings, routes.current),
      },
    ),
  );

  const address = findClientAddress(settings.listen);
  const { bodyLimitBytes } = settings.listen;
  const app = createApp({ crossOrigin: allowOtherOrigins(find) }, { log, metrics: registry });
  app.get("/health", (c) => c.json({ status: "ok" }));
  if (issuer !== undefined) app.get("/.well-known/jwks.json", (c) => c.json(issuer.keySet));
  const serveSold = createSelling({
    find,
    sales: createSales(settings.payment, sale),
    isSettlingPaused,
    upstreams,
    work: createUpstream(settings.upstream, { client, signal, issuer }),
    memory: new MemoryBudget(deriveResponseBounds(settings, readMemoryLimits())),
    client: address,
    metrics,
    log,
    publicUrl: settings.publicUrl,
    bodyLimitBytes,
    deliveryTimeoutMs: settings.payment.deliveryTimeoutMs,
  });
  const listener = resources.use(
    await listenHttp(createSellingPort(app, { find, serveSold, bodyLimitBytes, metrics: registry, log }), {
      ...buildSellingPort(settings.listen, address),
      connections: connections.listener({ name: "resource-server" }),
    }),
  );
  const { resumeIntervalMs: intervalMs } = settings.payment;
  resources.use(resumeSettlements({ intervalMs, retentionMs: settings.ledger.retentionSeconds * 1_000 }, sale));
  port.opened();
  context.leaves(async () => void (await Promise.all([operations.leave(), listener.leave()])));
  const urls = { "resource-server": listener.url, "resource-server-operations": operations.url };
  return { urls, announced: { url: operations.url } };
}

type ReadinessParts = Readonly<{
  facilitation: Pick<Facilitation, "readiness" | "clock">;
  claims: Readonly<{ readiness: () => ReadinessCheck }>;
  upstreams: Pick<UpstreamWatch, "check">;
  port: PortState;
  files: Pick<ActiveFiles, "list">;
  /** Whether no payment could be settled now, so that none is requested. */
  isSettlingPaused: () => boolean;
}>;

function createReadiness({ facilitation, claims, upstreams, port, files, isSettlingPaused }: ReadinessParts) {
  return () => {
    const clock = facilitation.clock?.();
    return evaluateReadiness({
      facilitator: facilitation.readiness(),
      ...(clock && { clock }),
      ledger: claims.readiness(),
      upstreams: upstreams.check(),
      sales: checkSales(port, isSettlingPaused),
      ...checkFiles(files.list()),
    });
  };
}

/** Reports whether payments are requested; only the facilitator's and the ledger's checks affect readiness. */
function checkSales(port: PortState, isSettlingPaused: () => boolean): ReadinessCheck {
  const check = port.check();
  if (!check.ok || !isSettlingPaused()) return check;
  return {
    ok: false,
    message: "open, but requests without a payment get 503, because none could be settled",
    tolerated: true,
  };
}

function createPage({ payTo, operations }: ResourceServerSettings, listRoutes: () => readonly Route[]) {
  const networks = new Set(listRoutes().flatMap(({ accepts }) => accepts.map(({ network }) => network)));
  const tags = ["sells HTTP routes over x402", `paid to ${payTo}`, ...networks];
  const describeBuyers = () => formatSpendControls(listRoutes().flatMap(({ accepts }) => accepts));
  const page = { service: "resource-server", tags, pages: operations.pages } as const;
  return createServicePage({ ...page, describeBuyers });
}

/**
 * Derives the memory limits for buffered requests and responses. Even the minimum fits the largest request and response, so that they can
 * be sold.
 */
export function deriveResponseBounds(
  { memory, upstream, listen }: Pick<ResourceServerSettings, "memory" | "upstream" | "listen">,
  limits: MemoryLimits,
): MemoryBudgetOptions {
  const saleBytes = upstream.responseLimitBytes + listen.bodyLimitBytes;
  const derivedBounds = deriveMemoryBounds(memory, limits);
  return {
    totalBytes: Math.max(derivedBounds.totalBytes, saleBytes),
    addressBytes: Math.max(derivedBounds.addressBytes, saleBytes),
    connectionBytes: saleBytes,
  };
}

function buildSellingPort(
  { host, port, requestTimeoutMs, proxyProtocol }: ResourceServerSettings["listen"],
  { isTrusted }: ClientAddress,
) {
  const options = { host, port, requestTimeoutMs, setting: nameSetting("listen", "port"), isProxy: isTrusted };
  return proxyProtocol ? { ...options, isTrustedProxy: isTrusted } : options;
}
