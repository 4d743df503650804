import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { text } from "node:stream/consumers";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { afterEach, expect, it } from "vitest";
import { createHttpClient, type OutgoingRequest } from "./http-client.ts";
import { listenLocally } from "#daemon/testing/local-server.ts";

const resources: AsyncDisposable[] = [];
afterEach(() => Promise.all(resources.splice(0).map((one) => one[Symbol.asyncDispose]())));

/** Starts a server, and counts its connections. */
async function serve(listener: RequestListener) {
  const server = createServer(listener);
  const local = await listenLocally(server);
  const connections: PromiseWithResolvers<void>[] = [];
  server.on("connection", (socket) => {
    const closeEvent = Promise.withResolvers<void>();
    connections.push(closeEvent);
    socket.on("close", () => closeEvent.resolve());
  });
  resources.push(local);
  const url = new URL(`${local.url}/a?b=%20`);
  return { url, connections, arrived: once(server, "request") };
}

const stop = new AbortController();
const client = createHttpClient(stop);
const send = ({ origin, pathname, search }: URL, request: Partial<OutgoingRequest> = {}) =>
  client({
    origin,
    path: `${pathname}${search}`,
    method: "GET",
    headers: {},
    timeoutMs: 60_000,
    limitBytes: 4_000_000,
    ...request,
  });

it("sends requests and returns responses over one connection", async () => {
  const { url, connections } = await serve(async (request, response) => {
    const got = [request.method, request.url, request.headers["x-own"], await text(request)].join(" ");
    response.writeHead(201, { "X-Two": ["a", "b"], Location: "/elsewhere" }).end(got);
  });
  for (const body of ["one", new TextEncoder().encode("two")]) {
    const response = await send(url, { method: "POST", headers: { "x-own": "1" }, body });
    expect([response.status, response.headers["x-two"]]).toEqual([201, ["a", "b"]]);
    expect(String(Buffer.from(response.body))).toBe(`POST /a?b=%20 1 ${String(Buffer.from(body))}`);
    // A connection can be reused from the next event loop tick on.
    await new Promise((resolve) => void setImmediate(() => setImmediate(resolve)));
  }
  expect(connections).toHaveLength(1);
});

it("decodes a compressed body up to the limit", async () => {
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
    let heldBytes = 0;
    const response = await send(url, { hold: (bytes) => void (heldBytes += bytes) });
    expect([response.body.length, heldBytes], encoding).toEqual([whole.length, whole.length]);
    await expect(send(url, { limitBytes: 2_999_999 }), encoding).rejects.toThrow("larger than 2999999 bytes");
  }
});

const reject = () => {
  throw new Error("no memory left");
};

it("closes the connection of a body that is too large, unwanted, over the memory limit, or late", async () => {
  const { url, connections } = await serve((_request, response) => void response.write("x".repeat(100)));
  await expect(send(url, { limitBytes: 10 })).rejects.toThrow("larger than 10 bytes");
  const unwantedResponse = await send(url, { isWanted: ({ status }) => status !== 200 });
  expect([unwantedResponse.status, unwantedResponse.body.length]).toEqual([200, 0]);
  await expect(send(url, { hold: reject })).rejects.toThrow("no memory left");
  await expect(send(url, { timeoutMs: 50 })).rejects.toMatchObject({ name: "TimeoutError" });
  await Promise.all(connections.map(({ promise }) => promise));
  expect(connections).toHaveLength(4);
});

it("fails with the system's error or the abort's reason", async () => {
  await expect(send(new URL("http://127.0.0.1:1/"))).rejects.toMatchObject({ code: "ECONNREFUSED" });
  const { url, arrived } = await serve(() => undefined);
  const stoppedRequest = send(url);
  await arrived;
  stop.abort(new Error("the server is stopping"));
  await expect(stoppedRequest).rejects.toThrow("the server is stopping");
  await expect(send(url)).rejects.toThrow("the server is stopping");
});
