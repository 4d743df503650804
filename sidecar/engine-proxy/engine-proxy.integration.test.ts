import { mkdtempSync, rmSync } from "node:fs";
import { createServer, request, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readSettings } from "#daemon/settings.ts";
import { startEngineProxy, type EngineProxy } from "./engine-proxy.ts";
import { engineProxySettings } from "./settings.ts";

const directory = mkdtempSync(join(tmpdir(), "gatehouse-proxy-"));
const enginePath = join(directory, "engine.sock");
const socketPath = join(directory, "proxy.sock");
const execId = "ef".repeat(32);
const seen: string[] = [];
const metrics = new Registry();
let engine: Server;
let proxy: EngineProxy;

/** An engine that notes what it is asked and answers in the Engine API's shapes. */
function startEngine(): Promise<Server> {
  const server = createServer((incoming, response) => {
    seen.push(`${incoming.method} ${incoming.url}`);
    if (incoming.url?.endsWith("/exec") === true) {
      response.writeHead(201, { "Content-Type": "application/json" }).end(JSON.stringify({ Id: execId }));
    } else if (incoming.url?.endsWith("/restart?t=5") === true) {
      response.writeHead(204).end();
    } else {
      response.writeHead(200, { "Content-Type": "application/json" }).end('{"State":{"Running":true}}');
    }
  });
  return new Promise((resolve) => server.listen(enginePath, () => resolve(server)));
}

function ask(method: string, path: string, body?: unknown): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ socketPath, method, path }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
    });
    outgoing.once("error", reject);
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

beforeAll(async () => {
  engine = await startEngine();
  const settings = readSettings(engineProxySettings, {
    env: {
      GATEHOUSE_ENGINE_PROXY_ENGINE: `unix://${enginePath}`,
      GATEHOUSE_ENGINE_PROXY_CONTAINER: "gh-node",
      GATEHOUSE_ENGINE_PROXY_LISTEN_SOCKET_PATH: socketPath,
    },
  });
  proxy = await startEngineProxy(settings, { log: pino({ level: "silent" }), metrics });
});

afterAll(async () => {
  await proxy[Symbol.asyncDispose]();
  await new Promise((resolve) => engine.close(resolve));
  rmSync(directory, { recursive: true });
});

describe("the engine proxy", () => {
  it("lets inspect and restart through", async () => {
    expect(await ask("GET", "/v1.41/containers/gh-node/json")).toMatchObject({ status: 200 });
    expect(await ask("POST", "/v1.41/containers/gh-node/restart?t=5")).toMatchObject({ status: 204 });
    expect(seen).toContain("POST /v1.41/containers/gh-node/restart?t=5");
  });

  it("lets an exec be followed only after it made it", async () => {
    expect(await ask("POST", `/exec/${execId}/start`, {})).toMatchObject({ status: 403 });
    expect(await ask("POST", "/v1.41/containers/gh-node/exec", { Cmd: ["./node_cli", "--version"] })).toMatchObject({
      status: 201,
    });
    expect(await ask("POST", `/exec/${execId}/start`, {})).toMatchObject({ status: 200 });
  });

  it("answers what it refuses in the engine's error shape, and does not ask the engine", async () => {
    const before = seen.length;
    const answer = await ask("POST", "/containers/create", { Image: "x" });
    expect(answer.status).toBe(403);
    expect(JSON.parse(answer.text)).toEqual({
      message:
        "gatehouse engine-proxy: only inspect, restart and exec of node_cli in the container gh-node pass this proxy",
    });
    expect(seen).toHaveLength(before);
  });

  it("refuses a body that is too large", async () => {
    const answer = await ask("POST", "/containers/gh-node/exec", { Cmd: ["x".repeat(20_000)] });
    expect(answer.status).toBe(413);
  });

  it("counts what passed and what did not", async () => {
    expect(await metrics.metrics()).toMatch(/gatehouse_engine_proxy_requests_total\{kind="refused"\} [1-9]/);
  });

  it("says that the engine does not answer", async () => {
    await new Promise((resolve) => engine.close(resolve));
    const answer = await ask("GET", "/containers/gh-node/json");
    expect(answer.status).toBe(502);
    expect(answer.text).toContain("did not answer");
    engine = await startEngine();
  });
});
