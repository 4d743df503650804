import type { Server } from "node:http";
import { chmod } from "node:fs/promises";
import { createAdaptorServer } from "@hono/node-server";
import { Registry } from "prom-client";
import { bearerAuth } from "hono/bearer-auth";
import { startListening } from "#daemon/http/listening-sockets.ts";
import { createApp, type App } from "#daemon/http/app.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import type { Secret } from "#daemon/secrets/secret.ts";
import { prepareSocket, findSocketPath, locateSocket } from "./control-socket.ts";
import type { UpkeepControl } from "./upkeep-control.ts";
import { adoptRequest, controlPath, restoreRequest, upgradeRequest } from "./control-answers.ts";

/** Max request body size of the control API; a body contains a digest or the path of a release. */
const bodyLimitBytes = 8_192;

const requestTimeoutMs = 5_000;

/**
 * Serves a sidecar's control API on a Unix socket in its state directory, mode 0600: users who can't read the state can't change the node.
 * On a file system that does not support sockets, only the commands fail; the sidecar keeps running and logs the failure.
 */
export async function listenForControl(
  stateDirectory: string,
  control: UpkeepControl,
  { log, mask }: Readonly<{ log: Logger; mask: Mask }>,
): Promise<AsyncDisposable> {
  const place = locateSocket(stateDirectory);
  const app = createApp({ bodyLimitBytes }, { log, metrics: new Registry(), mask });
  addControlRoutes(app, () => control);
  const server = createAdaptorServer({
    fetch: (request, env) => app.fetch(request, env as never),
    serverOptions: { requestTimeout: requestTimeoutMs, headersTimeout: requestTimeoutMs },
  }) as Server;
  const resources = new AsyncDisposableStack();
  try {
    await prepareSocket(stateDirectory);
    const socket = resources.use(await findSocketPath(stateDirectory));
    await startListening(server, { path: socket.path });
    resources.defer(() => close(server));
    await chmod(place, 0o600);
  } catch (error) {
    await resources.disposeAsync();
    const remedy = "set upkeep.controlToken and use --url, or name another upkeep.stateDirectory";
    log.warn(
      { event: "control-not-listening", err: error, place },
      `gatehouse resume, restart, adopt and upgrade can't reach this sidecar by its socket: ${remedy}`,
    );
  }
  return resources;
}

async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}

const starting = { error: "the sidecar is starting; try again in a moment" };

/** Adds the routes for `gatehouse resume`, `restart`, `adopt`, `upgrade` and `restore`. Any caller that can reach these routes can change the node. */
function addControlRoutes(app: App, current: () => UpkeepControl | undefined): void {
  app.get(controlPath, (c) => {
    const control = current();
    return control === undefined ? c.json(starting, 503) : c.json(control.look());
  });
  app.post(`${controlPath}/resume`, (c) => {
    const control = current();
    return control === undefined ? c.json(starting, 503) : c.json(control.resume());
  });
  app.post(`${controlPath}/restart`, (c) => {
    const control = current();
    return control === undefined ? c.json(starting, 503) : c.json(control.restart());
  });
  app.post(`${controlPath}/adopt`, async (c) => {
    const request = adoptRequest.safeParse(await c.req.json().catch(() => undefined));
    if (!request.success) return c.json({ error: 'expected {"digest": "…"} of the plan that was seen' }, 400);
    const control = current();
    return control === undefined ? c.json(starting, 503) : c.json(control.adopt(request.data.digest));
  });
  app.post(`${controlPath}/upgrade`, async (c) => {
    const request = upgradeRequest.safeParse(await c.req.json().catch(() => undefined));
    if (!request.success) return c.json({ error: 'expected {"source": "/a/directory"}' }, 400);
    const control = current();
    return control === undefined ? c.json(starting, 503) : c.json(await control.upgrade(request.data));
  });
  app.post(`${controlPath}/restore`, async (c) => {
    const request = restoreRequest.safeParse(await c.req.json().catch(() => undefined));
    if (!request.success) return c.json({ error: 'expected {"snapshot": "/a/directory"} or {}' }, 400);
    const control = current();
    return control === undefined ? c.json(starting, 503) : c.json(await control.restore(request.data));
  });
  app.post(`${controlPath}/upgrade/cancel`, (c) => {
    const control = current();
    return control === undefined ? c.json(starting, 503) : c.json(control.cancelUpgrade());
  });
}

/** Adds the same routes to a more widely reachable listener, for callers that have the token (compared in constant time). */
export function addGuardedControlRoutes(app: App, current: () => UpkeepControl | undefined, token: Secret): void {
  app.use(`${controlPath}/*`, bearerAuth({ token: token.reveal() }));
  addControlRoutes(app, current);
}
