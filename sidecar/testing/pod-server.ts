import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WebSocketServer } from "ws";
import { listenLocally } from "#daemon/testing/local-server.ts";
import { createKubernetesApi } from "../upkeep/drivers/kubernetes-api.ts";

/**
 * Starts an API server with one pod. It rejects every request that the sidecar's role does not allow.
 *
 * @param startedAt when the node's container started, in the cluster's time format; `restartedAt` is the start time of the pod that
 * replaces it.
 */
export async function startPodServer(startedAt = "2026-05-01T12:00:00Z", restartedAt = startedAt) {
  const directory = await mkdtemp(join(tmpdir(), "gatehouse-kubernetes-"));
  await writeFile(join(directory, "token"), "the-token\n");
  await writeFile(join(directory, "namespace"), "chain");
  let uid = 1;
  let readsUntilRunning = 0;
  let containerStartedAt = startedAt;
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    const isAllowed =
      ["GET", "DELETE"].includes(request.method ?? "") && request.url === "/api/v1/namespaces/chain/pods/node-0";
    if (request.headers.authorization !== "Bearer the-token" || !isAllowed) {
      response.writeHead(403).end('{"kind":"Status","message":"pods \\"node-0\\" is forbidden"}');
      return;
    }
    if (request.method === "DELETE") {
      uid += 1;
      readsUntilRunning = 2;
      containerStartedAt = restartedAt;
    }
    readsUntilRunning = Math.max(0, readsUntilRunning - 1);
    const containerState = readsUntilRunning === 0 ? { running: { startedAt: containerStartedAt } } : { waiting: {} };
    const status = {
      containerStatuses: [
        { name: "sidecar", state: {} },
        { name: "node", state: containerState },
      ],
    };
    response.end(JSON.stringify({ metadata: { uid: String(uid) }, status }));
  });
  const sockets = new WebSocketServer({ server, handleProtocols: () => "v4.channel.k8s.io" });
  const { url: apiUrl, ...local } = await listenLocally(server);
  const api = createKubernetesApi({ apiUrl, serviceAccountDirectory: directory, timeoutMs: 2_000 });
  return {
    api,
    apiUrl,
    requests,
    sockets,
    directory,
    [Symbol.asyncDispose]: async () => {
      await api[Symbol.asyncDispose]();
      for (const client of sockets.clients) client.terminate();
      await local[Symbol.asyncDispose]();
      await rm(directory, { recursive: true });
    },
  };
}
