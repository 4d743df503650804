import { allowedHost } from "#daemon/allowed-host.ts";
import { processConnections } from "#daemon/connections/process-connections.ts";
import { createApp, hostCheck } from "#daemon/http-app.ts";
import { listenHttp } from "#daemon/http-listener.ts";
import { operationsPaths, operationsRoutes } from "#daemon/operations-routes.ts";
import type { Service } from "#daemon/service.ts";
import { environmentName } from "#daemon/settings-leaf.ts";
import { readApiKeys } from "./api-keys.ts";
import { createFacilitator } from "./facilitator.ts";
import { facilitatorRoutes } from "./routes.ts";
import { refuseServingAnybody } from "./served-callers.ts";
import { facilitatorSettings } from "./settings.ts";

/** The facilitator as a process: HTTP on `listen.port`, settlement in `ledger.path` and on the chain. */
export const facilitator: Service<typeof facilitatorSettings.schema> = {
  definition: facilitatorSettings,
  start: async (settings, { log, metrics, mask, resources, signal }) => {
    refuseServingAnybody(settings);
    const { listen, apiKeys } = settings;
    const service = resources.use(await createFacilitator(settings, { log, metrics, clock: Date.now, signal }));
    const app = createApp(listen, { log, metrics, mask });
    // Payments come under whatever name a proxy before it has; what tells of the process is for its operator.
    for (const path of operationsPaths) app.use(path, hostCheck(allowedHost(listen)));
    operationsRoutes(app, { metrics, readiness: service.readiness });
    const keys = apiKeys && readApiKeys(apiKeys);
    facilitatorRoutes(app, { facilitator: service, apiKeys: keys, log });
    const connections = resources.use(processConnections(listen, { metrics })).listener({ name: "facilitator" });
    const setting = environmentName("facilitator", ["listen", "port"]);
    const { url } = resources.use(await listenHttp(app, { ...listen, setting, connections, isProxy: () => false }));
    log.info({ signer: service.signer, network: service.network }, "settling payments");
    return { urls: { facilitator: url } };
  },
};
