import { once } from "node:events";
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { makeSharedDirectory } from "#daemon/testing/test-directory.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { isLong } from "../support/run-size.ts";
import { startExampleService, type ExampleService } from "./example-service.ts";

const execId = "ef".repeat(32);
const answerTimeoutMs = isLong ? 330_000 : 1_500;
const requestTimeoutMs = isLong ? 5_000 : 1_500;

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const inspect = "/v1.41/containers/gh-node/json";
const restart = "/v1.41/containers/gh-node/restart?t=5";
const exec = { path: "/v1.41/containers/gh-node/exec", body: JSON.stringify({ Cmd: ["./node_cli", "--version"] }) };
const wellAnswers: Answer = ({ url = "" }, response) => {
  if (url.endsWith("/exec")) response.writeHead(201).end(JSON.stringify({ Id: execId }));
  else if (url.includes("/restart")) response.writeHead(204).end();
  else response.end(JSON.stringify({ State: { Status: "running", Running: true, StartedAt: "2026-01-02T03:04:05Z" } }));
};

const folder = makeSharedDirectory();
let socketPath: string;
let engine: Server;
let answer: Answer = wellAnswers;
let proxy: ExampleService;

beforeAll(async () => {
  socketPath = join(folder, "proxy.sock");
  engine = createServer((incoming, response) => answer(incoming, response));
  engine.listen(join(folder, "engine.sock"));
  await once(engine, "listening");
  proxy = await startExampleService(
    "engine-proxy",
    {
      GATEHOUSE_ENGINE_PROXY_ENGINE: `unix://${join(folder, "engine.sock")}`,
      GATEHOUSE_ENGINE_PROXY_CONTAINER: "gh-node",
      GATEHOUSE_ENGINE_PROXY_LISTEN_SOCKET_PATH: socketPath,
    },
    { heapMiB: 48, constants: { answerTimeoutMs, "listen.requestTimeoutMs": requestTimeoutMs } },
  );
});
afterEach(async () => {
  answer = wellAnswers;
  expect((await ask("GET", inspect)).status).toBe(200);
  proxy.expectWell();
});
afterAll(async () => {
  await proxy[Symbol.asyncDispose]();
  engine.closeAllConnections();
  engine.close();
});

async function ask(method: string, path: string, body = ""): Promise<{ status: number; text: string }> {
  const made = request({ socketPath, method, path });
  made.end(body);
  const [response] = (await once(made, "response")) as [IncomingMessage];
  return { status: response.statusCode ?? 0, text: await text(response) };
}

it("limits the request size at the engine proxy", async () => {
  const padded = (bytes: number) => exec.body.padEnd(bytes);
  expect((await ask("POST", exec.path, padded(16_384))).status).toBe(201);
  const rejectedResponse = await ask("POST", exec.path, padded(16_385));
  expect([rejectedResponse.status, rejectedResponse.text]).toEqual([
    413,
    expect.stringContaining("the body is larger than 16384 bytes"),
  ]);
});

const report =
  (bytes: number): Answer =>
  (_, response) => {
    const whole = JSON.stringify({ State: { Status: "running", Running: true, StartedAt: "2026-01-02T03:04:05Z" } });
    response.end(whole.padEnd(bytes));
  };

it("limits the response size of the engine at the engine proxy", async () => {
  answer = report(1_048_576);
  expect((await ask("GET", inspect)).status).toBe(200);
  answer = report(1_048_577);
  const rejectedResponse = await ask("GET", inspect);
  expect([rejectedResponse.status, rejectedResponse.text]).toEqual([
    502,
    expect.stringContaining("responded to inspect in an unexpected form"),
  ]);
  answer = (_, response) => {
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536, " ")));
    };
    response.on("drain", more);
    more();
  };
  expect((await ask("GET", inspect)).status).toBe(502);
});

it("limits the time to receive a request at the engine proxy", async () => {
  const began = performance.now();
  const socket = connect(socketPath);
  socket.on("error", () => socket.destroy());
  socket.write(`POST ${exec.path} HTTP/1.1\r\nHost: docker\r\nContent-Length: 10\r\n\r\n{`);
  const all = await text(socket);
  expect(all).toMatch(/^HTTP\/1\.1 408 /);
  expect(performance.now() - began).toBeGreaterThan(requestTimeoutMs - 100);
});

it("limits the concurrent requests to the engine proxy, and its connections", async () => {
  const waiting: ServerResponse[] = [];
  answer = (_, response) => void waiting.push(response);
  const asked = Array.from({ length: 32 }, () => ask("GET", inspect));
  await until("the requests are at the engine", generousMs, () => waiting.length === 32);
  const rejectedResponse = await ask("GET", inspect);
  expect([rejectedResponse.status, rejectedResponse.text]).toEqual([
    503,
    expect.stringContaining("too many concurrent requests"),
  ]);
  answer = wellAnswers;
  for (const response of waiting) wellAnswers({ url: inspect } as IncomingMessage, response);
  expect((await Promise.all(asked)).every(({ status }) => status === 200)).toBe(true);
  // Each address may have four idle connections; the next one is closed.
  const idle = Array.from({ length: 140 }, () => connect(socketPath));
  const closed = new Set<unknown>();
  for (const socket of idle) {
    socket.on("error", () => socket.destroy()).on("close", () => closed.add(socket));
    socket.resume();
  }
  await until("the other connections are closed", generousMs, () => closed.size >= 140 - 128);
  for (const socket of idle) socket.destroy();
  await until("they are closed", generousMs, () => closed.size === idle.length);
});

it(
  "limits the engine's response time to the engine proxy",
  async () => {
    answer = () => undefined;
    const began = performance.now();
    const late = await ask("GET", inspect);
    expect([late.status, late.text]).toEqual([
      502,
      expect.stringContaining(`no response within ${answerTimeoutMs} ms`),
    ]);
    expect(performance.now() - began).toBeGreaterThan(answerTimeoutMs - 100);

    // Single bytes do not count as a response.
    answer = (_, response) => {
      const trickle = setInterval(() => response.write(" "), answerTimeoutMs / 10);
      response.once("close", () => clearInterval(trickle));
    };
    const trickledResponse = await ask("GET", inspect);
    expect([trickledResponse.status, trickledResponse.text]).toEqual([
      502,
      expect.stringContaining(`no response within ${answerTimeoutMs} ms`),
    ]);
    expect(performance.now() - began).toBeLessThan(2 * answerTimeoutMs + 20_000);
  },
  2 * answerTimeoutMs + 60_000,
);

it("limits the engine proxy's log lines about rejected calls", async () => {
  const before = proxy.output().length;
  for (let made = 0; made < 60; made += 1) {
    const rejectedResponse = await ask("GET", `/containers/other/json?${"x".repeat(10_000)}`);
    expect(rejectedResponse.status).toBe(403);
  }
  await until("the log contains them", generousMs, () =>
    proxy.output().slice(before).includes("/containers/other/json"),
  );
  expect(proxy.output().length - before).toBeLessThan(20_000);
});

it("limits the restarts of the node by the engine proxy", async () => {
  for (let made = 0; made < 12; made += 1) expect((await ask("POST", restart)).status).toBe(204);
  const rejectedResponse = await ask("POST", restart);
  expect([rejectedResponse.status, rejectedResponse.text]).toEqual([
    429,
    expect.stringMatching(
      /gh-node was restarted 12 times within an hour \(restartsPerHour\); the next restart is allowed in 3\d\d\d s/,
    ),
  ]);
});

it("limits the runs of the node's tool by the engine proxy", async () => {
  const statuses: number[] = [];
  let last = "";
  // This is in the same minute as the first test's request.
  for (let made = 0; made < 61; made += 1) {
    const { status, text: said } = await ask("POST", exec.path, exec.body);
    statuses.push(status);
    last = said;
  }
  expect(statuses.filter((status) => status === 201).length).toBeGreaterThanOrEqual(59);
  expect(statuses.at(-1)).toBe(429);
  expect(last).toContain("node_cli was requested 60 times within a minute");
});
