import { once } from "node:events";
import { connect } from "node:net";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { pino } from "pino";
import { Registry } from "prom-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { MemoryBudget } from "../memory/memory-budget.ts";
import { createMask } from "../secrets/mask.ts";
import { generousMs, until } from "../testing/until.ts";
import { createApp } from "./app.ts";
import { createJsonPoster } from "./json-posts.ts";
import { listenHttp, type HttpListener } from "./listener.ts";

const metrics = new Registry();
const lines: string[] = [];
const gone = Promise.withResolvers<void>();
let listener: HttpListener;

beforeAll(async () => {
  const log = pino(new PassThrough().on("data", (line: Buffer) => lines.push(line.toString())));
  const mask = createMask();
  mask.hide("http://operator:a-long-password@node.example/");
  const limits = { bodyLimitBytes: 16 };
  const servePost = createJsonPoster(
    {
      "/echo": async (post) => ({
        status: 200,
        body: { echo: await post.readText() },
        headers: { "X-Own": "1" },
      }),
      "/unread": async () => ({ status: 401, body: { error: "no: a-long-password" } }),
      "/broken": async () => {
        throw new Error("a private detail");
      },
      "/slow": async ({ signal }) => {
        signal.addEventListener("abort", () => gone.resolve());
        await gone.promise;
        return { status: 200, body: {} };
      },
    },
    limits,
    { log, metrics, mask, memory: new MemoryBudget({ totalBytes: 1e6, addressBytes: 1e6, connectionBytes: 1e6 }) },
  );
  const app = createApp(limits, { log, metrics });
  listener = await listenHttp(app, {
    host: "127.0.0.1",
    port: 0,
    setting: "PORT",
    requestTimeoutMs: 5_000,
    servePost,
  });
});
afterAll(() => listener?.[Symbol.asyncDispose]());

const post = (path: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
  fetch(`${listener.url}${path}`, { method: "POST", body, headers });

/** Sends pieces of a raw request, and returns the output until the connection is closed. */
async function exchange(...pieces: readonly string[]): Promise<string> {
  const socket = connect(listener.port, "127.0.0.1");
  await once(socket, "connect");
  for (const piece of pieces) socket.write(piece);
  return text(socket);
}

/** Sends the start of a request, and disconnects once it has arrived. */
async function leaveDuring(request: string): Promise<void> {
  const asked = once(listener.server, "request");
  const socket = connect(listener.port, "127.0.0.1");
  socket.write(request);
  await asked;
  socket.destroy();
}

test("reads a body as text, and sets the request id and a length on the response", async () => {
  const response = await post("/echo?query", "ü1", { "X-Request-Id": "r-1" });
  expect([response.status, await response.json()]).toEqual([200, { echo: "ü1" }]);
  const headers = ["X-Request-Id", "X-Own", "Content-Type", "Content-Length"].map((name) => response.headers.get(name));
  expect(headers).toEqual(["r-1", "1", "application/json", "14"]);
  const other = await post("/echo", "", { "X-Request-Id": "not one" });
  expect(other.headers.get("X-Request-Id")).toMatch(/^[0-9a-f-]{36}$/);
});

test("rejects a body that is not UTF-8, and reports where", async () => {
  const response = await post("/echo", new Uint8Array([0x7b, 0x0a, 0x22, 0xff, 0x22, 0x7d]));
  const error = "the body is not UTF-8 at line 2, column 2; encode it as UTF-8";
  expect([response.status, await response.json()]).toEqual([400, { error }]);
});

test("rejects a body over the limit with 413, by its Content-Length or as it arrives, and keeps the connection open", async () => {
  for (const path of ["/echo", "/unread"]) expect((await post(path, "x".repeat(17))).status).toBe(413);
  const head = "POST /echo HTTP/1.1\r\nHost: a\r\n";
  const chunk = `10\r\n${"x".repeat(16)}\r\n`;
  const responses = await exchange(
    `${head}Transfer-Encoding: chunked\r\n\r\n${chunk}${chunk}0\r\n\r\n`,
    `${head}Content-Length: 1\r\nConnection: close\r\n\r\n1`,
  );
  expect(responses).toMatch(
    /^HTTP\/1\.1 413 [^]*the body exceeds 16 bytes; send less[^]*HTTP\/1\.1 200 [^]*"echo":"1"/,
  );
});

test("drains an unread, incomplete body for a while, then closes the connection", async () => {
  const response = await exchange("POST /unread HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n12");
  expect(response).toMatch(/^HTTP\/1\.1 401 [^]*Connection: close[^]*\{"error":"no: \[masked\]"\}$/);
});

test("logs and hides an internal error, and returns the request id", async () => {
  const response = await post("/broken", "1", { "X-Request-Id": "r-2" });
  expect([response.status, await response.json()]).toEqual([500, { error: "internal error", requestId: "r-2" }]);
  expect(lines.join("")).toMatch(/"event":"request-failed"[^]*a private detail/);
});

test("counts a client that disconnects mid-request as a client error, and notices one that disconnects later", async () => {
  const loggedCount = lines.length;
  await leaveDuring("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12");
  const rejectionSample = 'method="POST",route="/echo",status="400"} 1';
  await until("the request is counted", generousMs, async () => (await metrics.metrics()).includes(rejectionSample));
  await leaveDuring("POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
  await gone.promise;
  expect(lines).toHaveLength(loggedCount);
});

test.each(["GET", "PUT", "OPTIONS"])("responds to %s with 405 and the allowed method", async (method) => {
  const response = await fetch(`${listener.url}/echo?query`, { method });
  const seen = [response.status, response.headers.get("Allow"), await response.json()];
  expect(seen).toEqual([405, "POST", { error: "this path supports POST" }]);
  expect(await metrics.metrics()).toContain(`method="${method}",route="/echo",status="405"} 1`);
});

test("passes all other requests to the application", async () => {
  expect(await (await post("/echo/more", "1")).json()).toEqual({ error: "no such route: POST /echo/more" });
});
