import { createServer, request, type Server } from "node:http";
import { join } from "node:path";
import { pino } from "pino";
import { Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeSharedDirectory } from "#daemon/testing/test-directory.ts";
import { readSettings } from "#daemon/settings/settings.ts";
import { startEngineProxy, type EngineProxy } from "#engine-proxy/engine-proxy.ts";
import { engineProxySettings, type EngineProxySettings } from "#engine-proxy/settings.ts";

const directory = makeSharedDirectory();
const enginePath = join(directory, "engine.sock");
const socketPath = join(directory, "proxy.sock");
const execId = "ef".repeat(32);
const seen: string[] = [];
const metrics = new Registry();
const restartsPerHour = 3;
const execsPerMinute = 3;
const state = { Status: "running", Running: true, StartedAt: "2026-01-02T03:04:05.678Z" };
/** Engine API responses, with content that a caller must not see. */
const responses: Readonly<Record<string, unknown>> = {
  "/v1.41/containers/gh-node/json": {
    Id: "ab".repeat(32),
    State: { ...state, Pid: 4711, Error: "" },
    Config: { Env: ["NODE_KEY=0xsecret"], Labels: { owner: "secret" } },
    HostConfig: { Binds: ["/secret:/data"] },
    Mounts: [{ Source: "/secret" }],
  },
  [`/exec/${execId}/json`]: {
    ID: execId,
    Running: false,
    ExitCode: 0,
    Pid: 12,
    ContainerID: "ab".repeat(32),
    ProcessConfig: { entrypoint: "./node_cli", arguments: ["secret"] },
  },
  "/containers/gh-node/json": ["of", "another", "shape"],
};
let engine: Server;
let proxy: EngineProxy;
let settings: EngineProxySettings;

/** An engine that records requests and returns responses in the Engine API's shapes. */
function startEngine(): Promise<Server> {
  const server = createServer((incoming, response) => {
    seen.push(`${incoming.method} ${incoming.url}`);
    if (incoming.url?.endsWith("/exec") === true) {
      response.writeHead(201, { "Content-Type": "application/json" }).end(JSON.stringify({ Id: execId }));
    } else if (incoming.url?.endsWith("/restart?t=5") === true) {
      response.writeHead(204).end();
    } else {
      response
        .writeHead(200, { "Content-Type": "application/json" })
        .end(JSON.stringify(responses[incoming.url ?? ""] ?? {}));
    }
  });
  return new Promise((resolve) => server.listen(enginePath, () => resolve(server)));
}

function ask(method: string, path: string, body?: unknown): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const outgoingRequest = request({ socketPath, method, path }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
    });
    outgoingRequest.once("error", reject);
    outgoingRequest.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function createExec() {
  return ask("POST", "/v1.41/containers/gh-node/exec", { Cmd: ["./node_cli", "--version"] });
}

beforeAll(async () => {
  engine = await startEngine();
  settings = readSettings(engineProxySettings, {
    env: {
      GATEHOUSE_ENGINE_PROXY_ENGINE: `unix://${enginePath}`,
      GATEHOUSE_ENGINE_PROXY_CONTAINER: "gh-node",
      GATEHOUSE_ENGINE_PROXY_LISTEN_SOCKET_PATH: socketPath,
      GATEHOUSE_ENGINE_PROXY_RESTARTS_PER_HOUR: String(restartsPerHour),
    },
  });
  settings = { ...settings, execsPerMinute };
  proxy = await startEngineProxy(settings, { log: pino({ level: "silent" }), metrics });
});

afterAll(async () => {
  await proxy[Symbol.asyncDispose]();
  await new Promise((resolve) => engine.close(resolve));
});

describe("the engine proxy", () => {
  it("allows inspect and restart", async () => {
    expect(await ask("GET", "/v1.41/containers/gh-node/json")).toMatchObject({ status: 200 });
    expect(await ask("POST", "/v1.41/containers/gh-node/restart?t=5")).toMatchObject({ status: 204 });
    expect(seen).toContain("POST /v1.41/containers/gh-node/restart?t=5");
  });

  it("allows only execs created through it to be started", async () => {
    expect(await ask("POST", `/exec/${execId}/start`, {})).toMatchObject({ status: 403 });
    expect(await createExec()).toMatchObject({ status: 201 });
    expect(await ask("POST", `/exec/${execId}/start`, {})).toMatchObject({ status: 200 });
  });

  it("shows only the container's state and start time", async () => {
    const response = await ask("GET", "/v1.41/containers/gh-node/json");
    expect(JSON.parse(response.text)).toEqual({ State: state });
  });

  it("shows only an exec's result", async () => {
    const response = await ask("GET", `/exec/${execId}/json`);
    expect(JSON.parse(response.text)).toEqual({ Running: false, ExitCode: 0, Pid: 12 });
  });

  it("returns 502 and hides an unexpected response", async () => {
    const response = await ask("GET", "/containers/gh-node/json");
    expect(response.status).toBe(502);
    expect(JSON.parse(response.text)).toEqual({
      message: `gatehouse engine-proxy: the Docker Engine at unix://${enginePath} responded to inspect in an unexpected form`,
    });
  });

  it("rejects calls in the engine's error format, without a request to the engine", async () => {
    const seenCountBefore = seen.length;
    const response = await ask("POST", "/containers/create", { Image: "x" });
    expect(response.status).toBe(403);
    expect(JSON.parse(response.text)).toEqual({
      message:
        "gatehouse engine-proxy: only inspect, restart and exec of node_cli in the container gh-node are allowed by this proxy",
    });
    expect(seen).toHaveLength(seenCountBefore);
  });

  it("counts allowed and rejected calls", async () => {
    const { status, text } = await ask("GET", "/metrics");
    expect(status).toBe(200);
    expect(text).toMatch(/^gatehouse_engine_proxy_requests_total\{kind="rejected"\} [1-9]/m);
  });

  it("reports that the engine is not responding", async () => {
    await new Promise((resolve) => engine.close(resolve));
    const response = await ask("GET", "/containers/gh-node/json");
    expect(response.status).toBe(502);
    expect(response.text).toContain("did not respond");
    engine = await startEngine();
  });
});
