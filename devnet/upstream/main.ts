import { createApp } from "#daemon/http/app.ts";
import { listenHttp } from "#daemon/http/listener.ts";
import { evaluateReadiness } from "#daemon/http/readiness.ts";
import type { Service } from "#daemon/service.ts";
import { upstreamSettings } from "./settings.ts";
import { addOperationsRoutes } from "#daemon/http/operations-listener.ts";

/**
 * A sample upstream to sell during development: `GET /data` returns a JSON document with a counter of its deliveries, which shows what a
 * payment released; `GET /api/info` returns a description (specification, "x402 resource server", sample routes).
 */
export const upstream: Service<typeof upstreamSettings.schema> = {
  definition: upstreamSettings,
  async start({ listen }, { log, metrics, resources }) {
    const app = createApp({}, { log, metrics });
    addOperationsRoutes(app, { metrics, readiness: () => evaluateReadiness({}) });
    let handedOut = 0;
    app.get("/data", (c) => {
      handedOut += 1;
      return c.json({ data: "what the client paid for", handedOut, at: new Date().toISOString() });
    });
    app.get("/api/info", (c) => c.json({ name: "gatehouse sample upstream", routes: ["/data", "/api/info"] }));
    const listener = resources.use(
      await listenHttp(app, { ...listen, setting: "GATEHOUSE_UPSTREAM_LISTEN_PORT", requestTimeoutMs: 10_000 }),
    );
    return { urls: { upstream: listener.url } };
  },
};
