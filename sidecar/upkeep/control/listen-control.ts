import type { Server } from "node:http";
import { chmod } from "node:fs/promises";
import { createAdaptorServer } from "@hono/node-server";
import { Registry } from "prom-client";
import { beginListening } from "#daemon/http/begin-listening.ts";
import { createApp } from "#daemon/http/app.ts";
import type { Logger } from "#daemon/log.ts";
import type { Mask } from "#daemon/mask.ts";
import { controlRoutes } from "./control-routes.ts";
import { prepareSocket, socketPath, socketPlace } from "./control-socket.ts";
import type { UpkeepControl } from "./upkeep-control.ts";

/** Bodies that the control takes: a digest, or the path of a release. */
const bodyLimitBytes = 8_192;

const requestTimeoutMs = 5_000;

/**
 * Serves a sidecar's control on a Unix socket in its state directory, mode 0600: who may not read the state may not change the node. A
 * file system that has no sockets costs the commands, not the sidecar, and is said.
 */
export async function listenControl(
  stateDirectory: string,
  control: UpkeepControl,
  { log, mask }: Readonly<{ log: Logger; mask: Mask }>,
): Promise<AsyncDisposable> {
  const place = socketPlace(stateDirectory);
  const app = createApp({ bodyLimitBytes }, { log, metrics: new Registry(), mask });
  controlRoutes(app, () => control);
  const server = createAdaptorServer({
    fetch: (request, env) => app.fetch(request, env as never),
    serverOptions: { requestTimeout: requestTimeoutMs, headersTimeout: requestTimeoutMs },
  }) as Server;
  const resources = new AsyncDisposableStack();
  try {
    await prepareSocket(stateDirectory);
    const socket = resources.use(await socketPath(stateDirectory));
    await beginListening(server, { path: socket.path });
    resources.defer(() => close(server));
    await chmod(place, 0o600);
  } catch (error) {
    await resources.disposeAsync();
    const remedy = "set upkeep.controlToken and use --url, or name another upkeep.stateDirectory";
    log.warn(
      { err: error, place },
      `gatehouse resume, adopt and upgrade can't reach this sidecar by its socket: ${remedy}`,
    );
  }
  return resources;
}

async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}
