import type { Registry } from "prom-client";
import { createApp } from "#daemon/http/app.ts";
import { listenHttp, type HttpListener } from "#daemon/http/listener.ts";
import type { Logger } from "#daemon/log.ts";
import { pushRoutes } from "./push-routes.ts";
import { createPushStore } from "./push-store.ts";
import { parseText } from "./text-format.ts";

/** Where the stand-in listens and what it keeps at most. */
export type StandInOptions = Readonly<{
  listen: Readonly<{ host: string; port: number; requestTimeoutMs: number; bodyLimitBytes: number }>;
  limits: Readonly<{ groups: number; samples: number }>;
}>;

/**
 * Serves a Pushgateway for development: the real one's API and grouping-key semantics, all in memory.
 *
 * @throws {StartupError} when the port is taken.
 */
export async function startStandIn(
  { listen, limits }: StandInOptions,
  { log, metrics }: Readonly<{ log: Logger; metrics: Registry }>,
): Promise<HttpListener> {
  // The store shows the metrics of this process as well, read anew before every answer; they are made asynchronously.
  let own = parseText(await metrics.metrics());
  const app = createApp(listen, { log, metrics });
  app.use(async (_, next) => {
    own = parseText(await metrics.metrics());
    await next();
  });
  const store = createPushStore(
    { groupsMax: limits.groups, samplesMax: limits.samples },
    { now: Date.now, own: () => own },
  );
  pushRoutes(app, { store });
  app.get("/livez", (c) => c.json({ status: "ok" }));
  app.get("/readyz", (c) => c.json({ status: "ok", checks: {} }));
  return listenHttp(app, { ...listen, setting: "GATEHOUSE_PUSHGATEWAY_LISTEN_PORT" });
}
