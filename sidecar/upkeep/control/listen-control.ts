import type { Server } from "node:http";
import { findShortSocketPath } from "#daemon/http/short-socket-path.ts";
import { chmod } from "node:fs/promises";
import { createAdaptorServer } from "@hono/node-server";
import { Registry } from "prom-client";
import type { Context } from "hono";
import { bearerAuth } from "hono/bearer-auth";
import type { z } from "zod";
import { startListening } from "#daemon/http/listening-sockets.ts";
import { createApp, type App } from "#daemon/http/app.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import type { Secret } from "#daemon/secrets/secret.ts";
import { prepareSocket, locateSocket } from "./control-socket.ts";
import type { Requester, UpkeepControl } from "./upkeep-control.ts";
import { upgradeRequest } from "../upgrade/requested-upgrade.ts";
import { adoptRequest, controlPath } from "./control-responses.ts";

const requestTimeoutMs = 5_000;

/** Serves the control API on a Unix socket of mode 0600 in the state directory. If this fails, only the commands fail, which is logged. */
export async function listenForControl(
  stateDirectory: string,
  control: UpkeepControl,
  { log, mask }: Readonly<{ log: Logger; mask: Mask }>,
): Promise<AsyncDisposable> {
  const socketLocation = locateSocket(stateDirectory);
  const app = createApp({}, { log, metrics: new Registry(), mask });
  addControlRoutes(app, () => control);
  const server = createAdaptorServer({
    fetch: (request, env) => app.fetch(request, env as never),
    serverOptions: { requestTimeout: requestTimeoutMs, headersTimeout: requestTimeoutMs },
  }) as Server;
  const resources = new AsyncDisposableStack();
  try {
    await prepareSocket(stateDirectory);
    const socket = resources.use(await findShortSocketPath(locateSocket(stateDirectory)));
    await startListening(server, { path: socket.path });
    resources.defer(() => close(server));
    await chmod(socketLocation, 0o600);
  } catch (error) {
    await resources.disposeAsync();
    const remedy = "set upkeep.controlToken and use --url, or change upkeep.stateDirectory";
    log.warn(
      { event: "control-not-listening", err: error, place: socketLocation },
      `gatehouse resume, restart, adopt and upgrade can't reach this sidecar through its socket: ${remedy}`,
    );
  }
  return resources;
}

async function close(server: Server): Promise<void> {
  const serverClosed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await serverClosed;
}

const startingError = { error: "the sidecar is starting; retry in a few seconds" };

/** Adds the routes for `gatehouse resume`, `restart`, `adopt` and `upgrade`. Any caller that can reach these routes can change the node. */
function addControlRoutes(app: App, current: () => UpkeepControl | undefined): void {
  const respondWith = async (c: Context, respond: (control: UpkeepControl, requester: Requester) => unknown) => {
    const control = current();
    // Browsers send their origin with each of these requests, and the commands send none.
    const requester = c.req.header("origin") === undefined ? "command" : "page";
    return control === undefined ? c.json(startingError, 503) : c.json(await respond(control, requester));
  };
  const add = <Body>(
    path: string,
    { body, expected }: Readonly<{ body: z.ZodType<Body>; expected: string }>,
    respond: (control: UpkeepControl, request: Body, requester: Requester) => unknown,
  ) =>
    app.post(`${controlPath}${path}`, async (c) => {
      const { success, data } = body.safeParse(await c.req.json().catch(() => undefined));
      return success
        ? respondWith(c, (control, requester) => respond(control, data, requester))
        : c.json({ error: `expected ${expected}` }, 400);
    });
  app.get(controlPath, (c) => respondWith(c, (control) => control.view()));
  app.post(`${controlPath}/resume`, (c) => respondWith(c, (control, requester) => control.resume(requester)));
  app.post(`${controlPath}/restart`, (c) => respondWith(c, (control, requester) => control.restart(requester)));
  const digest = '{"digest": "…"} of the plan that was shown';
  add("/adopt", { body: adoptRequest, expected: digest }, (control, request, requester) =>
    control.adopt(request.digest, requester),
  );
  const directory = '{"source": "/a/directory"}';
  add("/upgrade", { body: upgradeRequest, expected: directory }, (control, request) => control.upgrade(request));
}

/** Adds the same routes to a more widely reachable listener, for callers that have the token (compared in constant time). */
export function addGuardedControlRoutes(app: App, current: () => UpkeepControl | undefined, token: Secret): void {
  app.use(`${controlPath}/*`, bearerAuth({ token: token.reveal() }));
  addControlRoutes(app, current);
}
