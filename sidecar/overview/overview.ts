import type { Clock } from "#daemon/clock.ts";
import { createAllowedHostCheck } from "#daemon/http/address.ts";
import { createApp } from "#daemon/http/app.ts";
import { listenHttp, type HttpListener } from "#daemon/http/listener.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import { addAssets } from "#status/page/static-routes.ts";
import { watchTarget } from "./target-watch.ts";
import type { Target } from "./targets.ts";

export type OverviewOptions = Readonly<{
  host: string;
  /** Port to listen on; 0 picks a free one. */
  port: number;
  /** Name of the port's setting, for the error message when the port is already in use. */
  setting: string;
  /** Host names accepted in addition to addresses and `localhost`. */
  allowedHosts: readonly string[];
}>;

export type OverviewDependencies = Readonly<{ clock: Pick<Clock, "wallMs">; log: Logger; mask: Mask }>;

const requestTimeoutMs = 10_000;

const sharedAssets = ["elements.js", "figures.js", "page.css", "times.js"];

/** Serves a page of several services, and polls them until disposed of. @throws {StartupError} when the address can't be bound. */
export async function startOverview(
  targets: readonly Target[],
  options: OverviewOptions,
  { clock, log, mask }: OverviewDependencies,
): Promise<HttpListener> {
  for (const { url } of targets) mask.hide(url);
  const resources = new AsyncDisposableStack();
  try {
    const hosts = { isAllowed: createAllowedHostCheck(options), setting: "--allowed-host" };
    const app = createApp({ hosts }, { log, mask });
    addAssets(app, "sidecar/overview/assets");
    addAssets(app, "status/page/assets", sharedAssets);
    const watches = targets.map((target) => resources.use(watchTarget(target, { clock, log })));
    app.get("/overview", (c) => {
      const shown = watches.map((watch) => watch.current());
      return c.json({ at: new Date(clock.wallMs()).toISOString(), targets: shown }, 200, {
        "Cache-Control": "no-store",
      });
    });
    const listener = resources.use(await listenHttp(app, { ...options, requestTimeoutMs }));
    const { url, port, server, stopAccepting } = listener;
    return { url, port, server, stopAccepting, [Symbol.asyncDispose]: () => resources.disposeAsync() };
  } catch (error) {
    await resources.disposeAsync();
    throw error;
  }
}
