import { createApp } from "#daemon/http-app.ts";
import { listenHttp } from "#daemon/http-listener.ts";
import { operationsRoutes } from "#daemon/operations-routes.ts";
import type { Service } from "#daemon/service.ts";
import { environmentName } from "#daemon/settings-leaf.ts";
import { createFacilitator } from "./facilitator.ts";
import { facilitatorRoutes } from "./routes.ts";
import { facilitatorSettings } from "./settings.ts";

/** The facilitator as a process: HTTP on `listen.port`, settlement in `ledger.path` and on the chain. */
export const facilitator: Service<typeof facilitatorSettings.schema> = {
  definition: facilitatorSettings,
  start: async (settings, { log, metrics, resources, signal }) => {
    const { listen } = settings;
    const service = resources.use(await createFacilitator(settings, { log, metrics, clock: Date.now, signal }));
    const app = createApp(listen, { log, metrics });
    operationsRoutes(app, { metrics, readiness: service.readiness });
    facilitatorRoutes(app, { facilitator: service, log });
    const { url } = resources.use(
      await listenHttp(app, { ...listen, setting: environmentName("facilitator", ["listen", "port"]) }),
    );
    log.info({ signer: service.signer, network: service.network }, "settling payments");
    return { urls: { facilitator: url } };
  },
};
