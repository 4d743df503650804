import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import {
  createDockerDriver,
  createDockerEngine,
  type DockerEngine,
  createDockerNodeCli,
} from "#sidecar/upkeep/drivers/docker-driver.ts";

type Answer = Readonly<{ status: number; body?: string | Uint8Array }>;

let requests: string[];
let responses: Map<string, Answer>;
let engine: DockerEngine;
const signal = new AbortController().signal;

/** A fake engine socket that records every request without checking it, and responds from a table. */
beforeEach(async () => {
  const directory = await makeTestDirectory();
  requests = [];
  responses = new Map();
  const server = createServer((request, response) => void answer(request, response));
  const socketPath = join(directory, "engine.sock");
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  engine = createDockerEngine({ engine: `unix://${socketPath}`, timeoutMs: 2_000 });
  onTestFinished(async () => void (await server[Symbol.asyncDispose]()));
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = "";
  for await (const chunk of request) body += String(chunk);
  requests.push(`${request.method} ${request.url} ${body}`.trim());
  const found = responses.get(`${request.method} ${request.url}`) ?? {
    status: 404,
    body: '{"message":"no such container"}',
  };
  response.writeHead(found.status).end(found.body);
}

/** A frame of the engine's multiplexed stream. */
function frame(stream: 1 | 2, text: string): Uint8Array {
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([header, Buffer.from(text)]);
}

test("restarts with one request that includes the node's stop timeout", async () => {
  responses.set("POST /containers/node/restart?t=300", { status: 204 });
  await createDockerDriver({ container: "node", stopTimeoutSeconds: 300 }, engine).restart(signal);
  expect(requests).toEqual(["POST /containers/node/restart?t=300"]);
});

test("runs node_cli in the container's bin directory, with an argument array", async () => {
  const stream = Buffer.concat([frame(2, "log\n"), frame(1, "enable_auto_"), frame(1, "prune: 1\n")]);
  responses.set("POST /containers/node/exec", { status: 201, body: '{"Id":"e1"}' });
  responses.set("POST /exec/e1/start", { status: 200, body: stream });
  responses.set("GET /exec/e1/json", { status: 200, body: '{"Running":false,"ExitCode":0}' });
  const options = { container: "node", timeoutMs: 2_000, outputLimitBytes: 1_000 };
  const run = createDockerNodeCli(options, () => ({ directory: "/data/bin", command: "node_cli" }), engine);
  expect(await run(["prune", "--get"], signal)).toEqual({
    ok: true,
    output: "enable_auto_prune: 1\n",
    failureOutput: "log",
  });
  expect(requests[0]).toBe(
    'POST /containers/node/exec {"AttachStdout":true,"AttachStderr":true,"Tty":false,"Cmd":["./node_cli","prune","--get"],"WorkingDir":"/data/bin"}',
  );
});

test("reports an unreachable engine together with its setting", async () => {
  const gone = createDockerEngine({ engine: "unix:///nowhere/engine.sock", timeoutMs: 500 });
  const driver = createDockerDriver({ container: "node", stopTimeoutSeconds: 1 }, gone);
  await expect(driver.restart(signal)).rejects.toThrow(
    "the Docker engine at unix:///nowhere/engine.sock can't be queried (ENOENT); check that the engine, or the engine proxy in front of it, is running, and that docker.engine is its address.",
  );
});
