import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { readSettings } from "#daemon/settings.ts";
import { sidecarSettings } from "../../settings.ts";
import { resolveNodeLayout } from "../observe/node-layout.ts";
import { kubernetesApi } from "./kubernetes-api.ts";
import { kubernetesDriver } from "./kubernetes-driver.ts";
import { selectNodeCli } from "./select-driver.ts";

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

const prunedOutput = [
  "enable_auto_prune: 1",
  "auto_prune_reserved_window: 2",
  "prune_reserved_version: 3",
  "flushed_version: 4",
  "real_prune_reserved_version: 5",
].join("\n");

/** How the API server answers an exec: with the channels' messages, or with no stream at all. */
type ExecAnswer = Readonly<{ output?: string; errors?: string; status: string }> | Readonly<{ refusal: string }>;

/** Runs node_cli in the pod as a sidecar of these settings would. */
async function pruneInfo(answer: ExecAnswer, settings: Readonly<Record<string, string>> = {}) {
  await using server = await apiServer();
  const commands: (readonly string[])[] = [];
  if ("refusal" in answer) server.sockets.options.verifyClient = (_info, done) => done(false, 500, answer.refusal);
  server.sockets.on("connection", (socket, request) => {
    commands.push(new URL(request.url ?? "", "http://x").searchParams.getAll("command"));
    if ("refusal" in answer) return;
    socket.send(Buffer.from(`\u0001${answer.output ?? ""}`));
    socket.send(Buffer.from(`\u0002${answer.errors ?? ""}`));
    socket.send(Buffer.from(`\u0003${answer.status}`));
    socket.close();
  });
  await using resources = new AsyncDisposableStack();
  const env = {
    GATEHOUSE_SIDECAR_NODE_CONFIG_PATH: "/data/bin/node.conf",
    GATEHOUSE_SIDECAR_RESTART_DRIVER: "kubernetes",
    GATEHOUSE_SIDECAR_KUBERNETES_POD: "node-0",
    GATEHOUSE_SIDECAR_KUBERNETES_API_URL: server.apiUrl,
    GATEHOUSE_SIDECAR_KUBERNETES_SERVICE_ACCOUNT_DIRECTORY: server.directory,
    ...settings,
  };
  const parsed = readSettings(sidecarSettings, { env, file: undefined });
  const cli = selectNodeCli(parsed, () => resolveNodeLayout(parsed.node), resources);
  return { commands, result: await cli?.pruneInfo(signal) };
}

test("node_cli runs in the pod, and its output and status are read from their channels", async () => {
  const { commands, result } = await pruneInfo({
    output: prunedOutput,
    errors: "a warning\n",
    status: '{"metadata":{},"status":"Success"}',
  });
  expect(result).toMatchObject({ ok: true, value: { autoPrune: true } });
  // A pod's exec has no working directory to choose: every path is a whole one.
  expect(commands).toEqual([["/data/bin/node_cli", "prune", "--c", "/data/bin/node.conf", "--get"]]);
});

test.each([
  [
    "a status that is not 0",
    {
      errors: "no config\n",
      status: '{"status":"Failure","details":{"causes":[{"reason":"ExitCode","message":"3"}]}}',
    },
    { reason: "Failed", message: "node_cli in pod node-0 exited with status 3: no config" },
  ],
  [
    "a tool that is not there",
    {
      status: JSON.stringify({
        status: "Failure",
        message: 'OCI runtime exec failed: exec failed: exec: "/data/bin/node_cli": stat: no such file or directory',
      }),
    },
    { reason: "NotFound", message: expect.stringContaining("set nodeCli.command, or nodeCli.containerBinDirectory.") },
  ],
  [
    "no status at all",
    { status: "" },
    { reason: "Failed", message: expect.stringContaining("ended without a status") },
  ],
  [
    "no stream, which the API server explains",
    { refusal: '{"kind":"Status","message":"container not found (\\"node\\")"}' },
    { reason: "Failed", message: 'node_cli in pod node-0 can\'t be run: 500: container not found ("node")' },
  ],
])("node_cli in the pod fails with %s", async (_what, answer, expected) => {
  expect((await pruneInfo(answer)).result).toEqual({ ok: false, ...expected });
});

test("node_cli in the pod is read no further than its limit", async () => {
  const answer = { output: "x".repeat(70_000), status: '{"status":"Success"}' };
  const { result } = await pruneInfo(answer, { GATEHOUSE_SIDECAR_NODE_CLI_OUTPUT_LIMIT_BYTES: "65536" });
  expect(result).toMatchObject({ reason: "TooMuchOutput", message: expect.stringContaining("more than 65536 bytes") });
});
