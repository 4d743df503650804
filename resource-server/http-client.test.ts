import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { afterEach, expect, it } from "vitest";
import { readText } from "#daemon/bytes.ts";
import { createHttpClient, runWithin } from "./http-client.ts";

const resources: AsyncDisposable[] = [];
afterEach(() => Promise.all(resources.splice(0).map((one) => one[Symbol.asyncDispose]())));

/** Starts a server, and counts its connections. */
async function serve(listener: RequestListener) {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  const connections: PromiseWithResolvers<void>[] = [];
  server.on("connection", (socket) => {
    const closed = Promise.withResolvers<void>();
    connections.push(closed);
    socket.on("close", () => closed.resolve());
  });
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => void server.close(resolve));
  };
  resources.push({ [Symbol.asyncDispose]: close });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/a?b=%20`, connections };
}

const client = createHttpClient();
const send = (url: string, request: Partial<Parameters<typeof client>[1]> = {}) =>
  client(url, { method: "GET", headers: {}, redirect: "manual", signal: new AbortController().signal, ...request });

it("sends method, target, headers and body, and gives status, headers and body, over one connection", async () => {
  const { url, connections } = await serve(async (request, response) => {
    const got = [request.method, request.url, request.headers["x-own"], await text(request)].join(" ");
    response.writeHead(201, { "X-Two": ["a", "b"], Location: "/elsewhere" }).end(got);
  });
  for (const body of ["one", new TextEncoder().encode("two")]) {
    const response = await send(url, { method: "POST", headers: { "x-own": "1" }, body });
    expect([response.status, response.headers.get("X-Two"), response.headers.get("nothing")]).toEqual([
      201,
      "a, b",
      null,
    ]);
    expect(await readText(response.body, 100)).toBe(`POST /a?b=%20 1 ${new TextDecoder().decode(Buffer.from(body))}`);
    // A connection is used again from the next turn of the event loop on.
    await new Promise((resolve) => void setImmediate(() => setImmediate(resolve)));
  }
  expect(connections).toHaveLength(1);
});

it("decodes a body, and receives a long one as fast as it is read", async () => {
  const whole = "x".repeat(3_000_000);
  const bodies = new Map([
    ["gzip", gzipSync(whole)],
    ["br", brotliCompressSync(whole)],
    ["identity", Buffer.from(whole)],
  ]);
  for (const [encoding, body] of bodies) {
    const { url } = await serve((_request, response) =>
      response.writeHead(200, { "Content-Encoding": encoding }).end(body),
    );
    expect((await readText((await send(url)).body, 4_000_000)).length, encoding).toBe(whole.length);
  }
});

it("closes the connection of a body that is too large, not read, or late, and fails with the reason", async () => {
  const { url, connections } = await serve((_request, response) => void response.write("x".repeat(100)));
  await expect(readText((await send(url)).body, 10)).rejects.toThrow("larger than 10 bytes");
  await (await send(url)).body?.cancel();
  const late = runWithin({ signal: new AbortController().signal, timeoutMs: 50 }, async (signal) =>
    readText((await send(url, { signal })).body, 1_000),
  );
  await expect(late).rejects.toMatchObject({ name: "TimeoutError" });
  await Promise.all(connections.map(({ promise }) => promise));
  expect(connections).toHaveLength(3);
});

it("fails with the system's error, and with the reason of an abort before there is a response", async () => {
  await expect(send("http://127.0.0.1:1/")).rejects.toMatchObject({ code: "ECONNREFUSED" });
  const { url } = await serve(() => undefined);
  const stop = new AbortController();
  const stopped = runWithin({ signal: stop.signal, timeoutMs: 60_000 }, (signal) => send(url, { signal }));
  stop.abort(new Error("the server is stopping"));
  await expect(stopped).rejects.toThrow("the server is stopping");
});
