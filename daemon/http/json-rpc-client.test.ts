import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createJsonRpcClient, type JsonRpcClientDependencies } from "./json-rpc-client.ts";
import { listenLocally, type LocalServer } from "../testing/local-server.ts";

/** Responses by path. */
const handlers: Record<string, (incoming: IncomingMessage, response: ServerResponse) => unknown> = {
  "/echo": async (incoming, response) => {
    const { method, params } = JSON.parse(await text(incoming)) as { method: string; params: unknown };
    const { authorization, connection } = incoming.headers;
    const result = { method, params, authorization, connection, type: incoming.headers["content-type"] };
    response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, result }));
  },
  "/rejected": (_, response) =>
    response.writeHead(500).end('{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"busy"}}'),
  "/mixed": (_, response) => response.end('{"jsonrpc":"2.0","id":"a","result":"0x1"}'),
  "/unreadable": (_, response) =>
    response.writeHead(400).end('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}'),
  "/page": (_, response) => response.writeHead(404).end("<html>"),
  "/other": (_, response) => response.end('{"status":"ok"}'),
  "/moved": (_, response) => response.writeHead(301, { location: "/echo" }).end(),
  "/endless": (_, response) => {
    const more = () => {
      while (!response.destroyed && response.write("x".repeat(16_384)));
    };
    response.on("drain", more);
    more();
  },
  "/silent": () => undefined,
  "/cut": (_, response) => {
    response.writeHead(200, { "content-length": "100" }).write("{");
    setImmediate(() => response.destroy());
  },
};
const server = createServer((incoming, response) => void handlers[incoming.url ?? ""]?.(incoming, response));
let local: LocalServer;
beforeAll(async () => void (local = await listenLocally(server)));
afterAll(() => local[Symbol.asyncDispose]());

const createClient = (
  path: string,
  dependencies: JsonRpcClientDependencies = {},
  more: Readonly<{ agent?: Agent }> = {},
) =>
  createJsonRpcClient(
    { url: `${local.url}${path}`, timeoutMs: 20_000, responseBytesMax: 100_000, ...more },
    dependencies,
  );
const whyNot = async (path: string, dependencies?: JsonRpcClientDependencies, signal?: AbortSignal) =>
  createClient(path, dependencies)("eth_chainId", [], signal).catch((error: unknown) => error);

it("calls a method with its params, without keep-alive", async () => {
  expect(await createClient("/echo")("eth_call", [{ to: "0x1" }, "latest"])).toEqual({
    ok: true,
    result: {
      method: "eth_call",
      params: [{ to: "0x1" }, "latest"],
      connection: "close",
      type: "application/json",
    },
  });
});

it("sends the URL's credentials, and keeps connections alive with an agent", async () => {
  const agent = new Agent({ keepAlive: true });
  const call = createJsonRpcClient({
    url: `http://me:p%40ss@127.0.0.1:${local.port}/echo`,
    timeoutMs: 20_000,
    responseBytesMax: 1_000,
    agent,
  });
  const response = await call("eth_chainId", []);
  expect(response).toMatchObject({
    result: { connection: "keep-alive", authorization: `Basic ${Buffer.from("me:p@ss").toString("base64")}` },
  });
  agent.destroy();
});

it("returns an error from the endpoint as a value, whatever the HTTP status", async () => {
  expect(await createClient("/rejected")("eth_chainId", [])).toEqual({
    ok: false,
    error: { code: -32_000, message: "busy" },
  });
});

it("accepts an error without the request id as a rejection", async () => {
  expect(await createClient("/unreadable")("eth_chainId", [])).toMatchObject({ error: { message: "parse error" } });
});

it.each([
  ["/mixed", { kind: "another-id", status: 200 }, 'the response to another request (expected the id 1, found "a")'],
  ["/page", { kind: "not-json", status: 404, text: "<html>" }, "text that is not JSON (HTTP 404)"],
  [
    "/other",
    { kind: "not-json-rpc", status: 200, text: '{"status":"ok"}' },
    "JSON that is not a JSON-RPC response (HTTP 200)",
  ],
  ["/moved", { kind: "redirect", status: 301 }, "a redirect (HTTP 301)"],
  ["/endless", { kind: "too-large" }, "the body is larger than 100000 bytes"],
  ["/cut", { kind: "unreachable" }, "ECONNRESET"],
])("explains why %s is not a valid response", async (path, why, message) => {
  expect(await whyNot(path)).toMatchObject({ name: "NoJsonRpcAnswerError", why, message });
});

it("stops at its timeout, or when its caller aborts it", async () => {
  const over = await whyNot("/silent", { timeout: () => AbortSignal.timeout(20) });
  expect(over).toMatchObject({ why: { kind: "timeout" }, message: "nothing within 20000 ms" });
  expect(await whyNot("/silent", {}, AbortSignal.abort())).toMatchObject({ why: { kind: "timeout" } });
});

it("reports that no server is listening", async () => {
  const unusedServer = createServer().listen(0, "127.0.0.1");
  await once(unusedServer, "listening");
  const { port } = unusedServer.address() as AddressInfo;
  unusedServer.close();
  await once(unusedServer, "close");
  const call = createJsonRpcClient({ url: `http://127.0.0.1:${port}/`, timeoutMs: 20_000, responseBytesMax: 10 });
  await expect(call("eth_chainId", [])).rejects.toMatchObject({
    why: { kind: "unreachable" },
    message: "ECONNREFUSED",
    cause: { code: "ECONNREFUSED" },
  });
});
