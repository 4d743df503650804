import { createAuditLog } from "#daemon/audit/audit-log.ts";
import { systemClock } from "#daemon/clock.ts";
import { createApp } from "#daemon/http/app.ts";
import { createJsonPoster } from "#daemon/http/json-posts.ts";
import { listenHttp } from "#daemon/http/listener.ts";
import { addOpenApiRoute, listenForOperations } from "#daemon/http/operations-listener.ts";
import { operationsApi } from "#daemon/http/operations-api.ts";
import { checkFiles, evaluateReadiness, trackPort } from "#daemon/http/readiness.ts";
import { MemoryBudget, deriveMemoryBounds, readMemoryLimits } from "#daemon/memory/memory-budget.ts";
import { optimizeForSpeed, watchBusy } from "#daemon/process/busy-signal.ts";
import type { Service } from "#daemon/service.ts";
import { servicePageApi } from "#status/status-api.ts";
import { createServicePage } from "#status/page/service-page.ts";
import { nameSetting } from "./setting-name.ts";
import { readApiKeys } from "./callers/api-keys.ts";
import { requireRestrictedCallers } from "./exposure.ts";
import { createFacilitator, type Facilitator } from "./facilitator.ts";
import { listNetworks } from "./network-options.ts";
import { addFacilitatorRoutes, limitVerifications, createPaymentPosts } from "./http.ts";
import { facilitatorSettings, type FacilitatorSettings } from "./settings.ts";
import { limitProcessConnections } from "#daemon/http/connections/connection-budget.ts";
import { createNetworkList } from "#daemon/http/proxies/client-address.ts";

/** Requests per second above which speed matters more than memory; far above 1,000 settlements a minute. */
const busyCalls = 200;

/** Facilitator process: HTTP on `listen.port`, health and metrics on `operations.port`, settlement in `ledger.path` and on the chain. */
export const facilitator: Service<typeof facilitatorSettings.schema> = {
  definition: facilitatorSettings,
  start: async (
    settings,
    { log, metrics, mask, files, resources, signal, configuration, isHandedOver, yields, leaves },
  ) => {
    requireRestrictedCallers({ ...settings, networks: listNetworks(settings) });
    const { listen, apiKeys, sellers } = settings;
    const { monotonicMs } = systemClock;
    const audit = createAuditLog(log);
    const service = resources.use(
      await createFacilitator(settings, { log, metrics, clock: Date.now, monotonicMs, signal, audit, isHandedOver }),
    );
    const port = trackPort(signal);
    const readiness = () =>
      evaluateReadiness({ ...service.readiness().checks, payments: port.check(), ...checkFiles(files.list()) });
    const connections = resources.use(limitProcessConnections(listen, { metrics }));
    // Opened before the payment port, so that it closes later and reports the shutdown while settlements in flight complete.
    const operations = resources.use(
      await listenForOperations(
        {
          ...settings.operations,
          setting: nameSetting("operations", "port"),
          connections: connections.operators(),
        },
        { log, metrics, readiness, mask, configuration, api: () => api, addPage: createPage(settings, service) },
      ),
    );
    const app = createApp({ hasAdminPort: true }, { log, metrics, mask });
    const keys = readApiKeys(apiKeys, sellers);
    mask.hide(keys?.secrets);
    const bounds = { ...settings.verification, networks: service.networks };
    const verify = limitVerifications(bounds, service.verify, { metrics });
    const memory = new MemoryBudget(deriveMemoryBounds({}, readMemoryLimits()));
    const routeDependencies = { facilitator: { ...service, verify }, apiKeys: keys, log };
    addFacilitatorRoutes(app, routeDependencies);
    addOpenApiRoute(app, async () => (await import("./facilitator-api.ts")).facilitatorApi);
    const isProxy = createNetworkList(listen.trustedProxies);
    const servePost = createJsonPoster(createPaymentPosts(routeDependencies), listen, { log, metrics, mask, memory });
    let posts = 0;
    resources.use(watchBusy({ busyCalls, completed: () => posts, becameBusy: optimizeForSpeed }));
    const payments = resources.use(
      await listenHttp(app, {
        ...listen,
        setting: nameSetting("listen", "port"),
        connections: connections.listener({ name: "facilitator" }),
        isProxy,
        servePost: (request, response) => {
          posts += 1;
          return servePost(request, response);
        },
        ...(listen.proxyProtocol ? { isTrustedProxy: isProxy } : {}),
      }),
    );
    port.opened();
    yields(service.yieldTerm);
    leaves(async () => void (await Promise.all([operations.leave(), payments.leave()])));
    // The watches have logged why a network can't settle yet.
    for (const { signers, network, checks } of service.networks)
      if (Object.values(checks()).every(({ ok }) => ok))
        log.info({ event: "settling-payments", signers, network }, "settling payments");
    return {
      urls: { facilitator: payments.url, "facilitator-operations": operations.url },
      announced: { url: operations.url },
    };
  },
};

const api = {
  title: "Gatehouse facilitator",
  description: "For operators.",
  operations: [...operationsApi, ...servicePageApi],
};

function createPage({ operations }: FacilitatorSettings, { networks }: Pick<Facilitator, "networks">) {
  const signers = new Set(networks.flatMap((network) => network.signers.map((signer) => `signer ${signer}`)));
  const tags = ["settles x402 payments", ...signers, ...networks.map(({ network }) => network)];
  return createServicePage({ service: "facilitator", tags, pages: operations.pages });
}
