import { createServer } from "node:http";
import { listenLocally } from "#daemon/testing/local-server.ts";

/** Starts a Docker engine with one container; `startedAtMs` reports when that started; undefined while it is stopped. */
export async function startEngineServer(
  startedAtMs: () => number | undefined,
  onRestart: (restarts: number) => void = () => undefined,
) {
  let restarts = 0;
  const server = createServer((request, response) => {
    request.resume();
    if (request.method === "POST") {
      restarts += 1;
      onRestart(restarts);
      return response.writeHead(204).end();
    }
    const startMs = startedAtMs();
    const StartedAt = new Date(startMs ?? 0).toISOString();
    return response.end(JSON.stringify({ State: { Running: startMs !== undefined, StartedAt } }));
  });
  const { url, [Symbol.asyncDispose]: close } = await listenLocally(server);
  const environment = {
    GATEHOUSE_SIDECAR_RESTART_DRIVER: "docker",
    GATEHOUSE_SIDECAR_DOCKER_ENGINE: url,
    GATEHOUSE_SIDECAR_DOCKER_CONTAINER: "node",
    GATEHOUSE_SIDECAR_NODE_CLI_RUNNER: "none",
    GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
  };
  return { environment, restarts: () => restarts, [Symbol.asyncDispose]: close };
}
