import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readWithConstants } from "#daemon/testing/read-with-constants.ts";
import { sidecarSettings } from "#sidecar/settings.ts";
import { startPodServer } from "#sidecar/testing/pod-server.ts";
import { resolveNodeLayout } from "#node/layout.ts";
import { createKubernetesDriver } from "#sidecar/upkeep/drivers/kubernetes-driver.ts";
import { selectNodeCli } from "#sidecar/upkeep/drivers/select-driver.ts";

const signal = new AbortController().signal;

test("deletes the pod and waits for the new one until its container runs", async () => {
  await using server = await startPodServer();
  const driver = createKubernetesDriver({ pod: "node-0", container: "node", timeoutMs: 5_000 }, server.api);
  await driver.restart(signal);
  const pod = "/api/v1/namespaces/chain/pods/node-0";
  expect(server.requests.slice(0, 2)).toEqual([`GET ${pod}`, `DELETE ${pod}`]);
  expect(new Set(server.requests)).toEqual(new Set([`GET ${pod}`, `DELETE ${pod}`]));
  expect(await driver.startedAt?.(signal)).toBe(Date.parse("2026-05-01T12:00:00Z"));
});

test("does not wait for the next pod if stopped inside the pod that it deleted", async () => {
  await using server = await startPodServer();
  const driver = createKubernetesDriver({ pod: "node-0", container: "node", timeoutMs: 60_000 }, server.api);
  const instanceIdBefore = await driver.instanceId?.(signal);
  await driver.restart(signal, AbortSignal.abort());
  expect(server.requests.at(-1)).toMatch(/^DELETE /);
  expect(await driver.instanceId?.(signal)).not.toBe(instanceIdBefore);
});

test("reports a denial with the API server's message and the missing permission", async () => {
  await using server = await startPodServer();
  await writeFile(join(server.directory, "token"), "another");
  const driver = createKubernetesDriver({ pod: "node-0", container: "node", timeoutMs: 500 }, server.api);
  await expect(driver.restart(signal)).rejects.toThrow(
    'pod node-0 can\'t be read: 403: pods "node-0" is forbidden; grant get on it.',
  );
});

const prunedOutput = [
  "enable_auto_prune: 1",
  "auto_prune_reserved_window: 2",
  "prune_reserved_version: 3",
  "flushed_version: 4",
  "real_prune_reserved_version: 5",
].join("\n");

/** Response of the API server to an exec: the channels' messages, or an error instead of a stream. */
type ExecAnswer = Readonly<{ output?: string; errors?: string; status: string }> | Readonly<{ rejection: string }>;

/** Runs node_cli in the pod as a sidecar with these settings would. */
async function pruneInfo(response: ExecAnswer, settings: Readonly<Record<string, string>> = {}) {
  await using server = await startPodServer();
  const commands: (readonly string[])[] = [];
  if ("rejection" in response)
    server.sockets.options.verifyClient = (_info, done) => done(false, 500, response.rejection);
  server.sockets.on("connection", (socket, request) => {
    commands.push(new URL(request.url ?? "", "http://x").searchParams.getAll("command"));
    if ("rejection" in response) return;
    socket.send(Buffer.from(`\u0001${response.output ?? ""}`));
    socket.send(Buffer.from(`\u0002${response.errors ?? ""}`));
    socket.send(Buffer.from(`\u0003${response.status}`));
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
  const parsed = readWithConstants(sidecarSettings, env);
  const cli = await selectNodeCli(parsed, () => resolveNodeLayout(parsed.node), resources);
  return { commands, result: await cli?.pruneInfo(signal) };
}

test("runs node_cli in the pod and reads its output and status from their channels", async () => {
  const { commands, result } = await pruneInfo({
    output: prunedOutput,
    errors: "a warning\n",
    status: '{"metadata":{},"status":"Success"}',
  });
  expect(result).toMatchObject({ ok: true, value: { autoPrune: true } });
  // An exec in a pod has no working directory option, so every path is absolute.
  expect(commands).toEqual([["/data/bin/node_cli", "prune", "--c", "/data/bin/node.conf", "--get"]]);
});

test.each([
  [
    "a non-zero status",
    {
      errors: "no config\n",
      status: '{"status":"Failure","details":{"causes":[{"reason":"ExitCode","message":"3"}]}}',
    },
    { reason: "Failed", message: "node_cli in pod node-0 exited with status 3: no config" },
  ],
  [
    "a missing tool",
    {
      status: JSON.stringify({
        status: "Failure",
        message: 'OCI runtime exec failed: exec failed: exec: "/data/bin/node_cli": stat: no such file or directory',
      }),
    },
    { reason: "NotFound", message: expect.stringContaining("set nodeCli.command, or nodeCli.containerBinDirectory.") },
  ],
  ["no status", { status: "" }, { reason: "Failed", message: expect.stringContaining("exited without a status") }],
  [
    "no stream, as explained by the API server",
    { rejection: '{"kind":"Status","message":"container not found (\\"node\\")"}' },
    { reason: "Failed", message: 'node_cli in pod node-0 can\'t be run: 500: container not found ("node")' },
  ],
])("fails for node_cli in the pod with %s", async (_what, response, expected) => {
  expect((await pruneInfo(response)).result).toEqual({ ok: false, ...expected });
});

test("limits how much output of node_cli in the pod it reads", async () => {
  const response = { output: "x".repeat(70_000), status: '{"status":"Success"}' };
  const { result } = await pruneInfo(response);
  expect(result).toMatchObject({
    reason: "TooMuchOutput",
    message: expect.stringContaining("more than the limit of 65536 bytes"),
  });
});
