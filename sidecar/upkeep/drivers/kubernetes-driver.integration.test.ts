import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { kubernetesApi } from "./kubernetes-api.ts";
import { kubernetesDriver } from "./kubernetes-driver.ts";
import { kubernetesNodeCli } from "./kubernetes-node-cli.ts";

const signal = new AbortController().signal;

/** An API server with one pod; it refuses every request but those that the sidecar's role allows. */
async function apiServer() {
  const directory = await mkdtemp(join(tmpdir(), "gatehouse-kubernetes-"));
  await writeFile(join(directory, "token"), "the-token\n");
  await writeFile(join(directory, "namespace"), "chain");
  let uid = 1;
  let looksUntilRunning = 0;
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
      looksUntilRunning = 2;
    }
    looksUntilRunning = Math.max(0, looksUntilRunning - 1);
    const running = looksUntilRunning === 0 ? { running: { startedAt: "2026-05-01T12:00:00Z" } } : { waiting: {} };
    const status = {
      containerStatuses: [
        { name: "sidecar", state: {} },
        { name: "node", state: running },
      ],
    };
    response.end(JSON.stringify({ metadata: { uid: String(uid) }, status }));
  });
  const sockets = new WebSocketServer({ server, handleProtocols: () => "v4.channel.k8s.io" });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const apiUrl = `http://127.0.0.1:${port}`;
  const api = kubernetesApi({ apiUrl, serviceAccountDirectory: directory, timeoutMs: 2_000 });
  return {
    api,
    apiUrl,
    requests,
    sockets,
    directory,
    [Symbol.asyncDispose]: async () => {
      await api[Symbol.asyncDispose]();
      for (const client of sockets.clients) client.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await rm(directory, { recursive: true });
    },
  };
}

test("the pod is deleted, and the new one waited for until its container runs", async () => {
  await using server = await apiServer();
  const driver = kubernetesDriver({ pod: "node-0", container: "node", timeoutMs: 5_000 }, server.api);
  await driver.restart(signal);
  const pod = "/api/v1/namespaces/chain/pods/node-0";
  expect(server.requests.slice(0, 2)).toEqual([`GET ${pod}`, `DELETE ${pod}`]);
  expect(new Set(server.requests)).toEqual(new Set([`GET ${pod}`, `DELETE ${pod}`]));
  expect(await driver.startedAt?.(signal)).toBe(Date.parse("2026-05-01T12:00:00Z"));
});

test("a refusal is named in the API server's words, with the right that is missing", async () => {
  await using server = await apiServer();
  await writeFile(join(server.directory, "token"), "another");
  const driver = kubernetesDriver({ pod: "node-0", container: "node", timeoutMs: 500 }, server.api);
  await expect(driver.restart(signal)).rejects.toThrow(
    'pod node-0 can\'t be looked at: 403: pods "node-0" is forbidden; grant get on it.',
  );
});

test("node_cli runs in the pod, and its output and status are read from their channels", async () => {
  await using server = await apiServer();
  const commands: (readonly string[])[] = [];
  let status = '{"status":"Success"}';
  server.sockets.on("connection", (socket, request) => {
    commands.push(new URL(request.url ?? "", "http://x").searchParams.getAll("command"));
    socket.send(Buffer.from("\u0001enable_auto_prune: 1\n"));
    socket.send(Buffer.from("\u0002no config\n"));
    socket.send(Buffer.from(`\u0003${status}`));
    socket.close();
  });
  const options = { apiUrl: server.apiUrl, pod: "node-0", container: "node", command: "node_cli" };
  const limits = { timeoutMs: 2_000, outputLimitBytes: 1_000 };
  const run = kubernetesNodeCli({ ...options, ...limits }, () => "/data/bin", server.api);
  expect(await run(["prune", "--get"], signal)).toEqual({ ok: true, output: "enable_auto_prune: 1\n" });
  expect(commands).toEqual([["/data/bin/node_cli", "prune", "--get"]]);
  status = '{"status":"Failure","details":{"causes":[{"reason":"ExitCode","message":"3"}]}}';
  expect(await run(["prune", "--get"], signal)).toMatchObject({
    message: "node_cli in pod node-0 exited with status 3: no config",
  });
});
