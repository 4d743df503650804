import { accessSync, constants, statSync } from "node:fs";
import { dirname } from "node:path";
import { createDirectory } from "#daemon/files/create-directory.ts";
import type { Service } from "#daemon/service.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import { startEngineProxy } from "./engine-proxy.ts";
import { engineProxySettings } from "./settings.ts";

/** The engine proxy process: owns access to the Docker Engine's socket, so that the sidecar doesn't need it. */
export const engineProxy: Service<typeof engineProxySettings.schema> = {
  definition: engineProxySettings,
  async start(settings, { log, metrics, resources }) {
    requireSocket(settings.engine.slice("unix://".length));
    createDirectory(dirname(settings.listen.socketPath), 0o750);
    const proxy = resources.use(await startEngineProxy(settings, { log, metrics }));
    return { urls: { "engine-proxy": `unix://${proxy.socketPath}` } };
  },
};

function requireSocket(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) {
    throw new StartupError(
      `${path} is a directory, which Docker creates if a socket to be mounted is missing; remove it on the host, and mount the Docker Engine's socket (DOCKER_SOCKET in the .env of examples/compose).`,
    );
  }
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (cause) {
    throw new StartupError(
      `can't use the Docker Engine's socket ${path} (${(cause as NodeJS.ErrnoException).code ?? String(cause)}); set GATEHOUSE_ENGINE_PROXY_ENGINE to the socket's path and run with a group that may use it.`,
    );
  }
}
