import { startTrace } from "#daemon/http/request-trace.ts";
import { afterEach, describe, expect, it } from "vitest";
import { createHttpClient } from "#daemon/http/http-client.ts";
import { startStubServer, type RespondToRequest } from "../testing/stub-server.ts";
import { route } from "../testing/payments.ts";
import { createUpstream, type PaidRequest } from "./upstream.ts";

const servers: AsyncDisposable[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => server[Symbol.asyncDispose]())));

/** Starts an upstream whose responses come from a function, and sells it with the test route. */
async function openUpstream(
  respond: RespondToRequest,
  limits: Partial<Parameters<typeof createUpstream>[0]> = {},
  signal = new AbortController().signal,
) {
  const receivedRequests: Request[] = [];
  const server = await startStubServer((request) => {
    receivedRequests.push(request);
    return respond(request);
  });
  servers.push(server);
  const soldRoute = { ...route, upstream: new URL("/data?fixed=1", server.origin) };
  const options = { timeoutMs: 5_000, responseLimitBytes: 16, ...limits };
  const forward = createUpstream(options, { client: createHttpClient({ signal }), signal, issuer: undefined });
  const upstream = (change: Partial<PaidRequest> = {}) =>
    forward({
      route: soldRoute,
      target: "/data",
      headers: {},
      body: undefined,
      origin: {
        clientAddress: "192.0.2.7",
        protocol: "https",
        host: "shop.test",
        requestId: "r-1",
        trace: startTrace(),
      },
      memory: { tryAcquire: () => true, release: () => undefined },
      payer: "0xbuyer",
      ...change,
    });
  return { upstream, receivedRequests, origin: server.origin };
}

const json = (body: string, init?: ResponseInit) =>
  new Response(body, { headers: { "Content-Type": "application/json; charset=utf-8" }, ...init });

const respondNever = () => new Promise<Response>(() => undefined);
const respondEndlessly = () => {
  const body = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array([1])) });
  return new Response(body, { headers: { "Content-Type": "application/json" } });
};
const respondPartly = () =>
  new ReadableStream({
    start: (controller) => controller.enqueue(new Uint8Array([1])),
    pull: (controller) => controller.error(new Error("cut")),
  });

describe("upstream", () => {
  it("forwards to the route's URL with both queries, and returns the response", async () => {
    const { upstream, receivedRequests, origin } = await openUpstream(() => json('{"a":1}'));
    expect(await upstream({ target: "/data?x=1&y=%20" })).toEqual({
      kind: "resource",
      response: {
        status: 200,
        headers: [["content-type", "application/json; charset=utf-8"]],
        body: new TextEncoder().encode('{"a":1}'),
      },
    });
    expect(receivedRequests[0]?.url).toBe(`${origin}/data?fixed=1&x=1&y=%20`);
  });

  it("replaces a client's credentials with those in the route's URL", async () => {
    const { upstream, receivedRequests, origin } = await openUpstream(() => json("1"));
    const guardedRoute = { ...route, upstream: new URL(`${origin.replace("//", "//seller:p%40ss@")}/data`) };
    const headers = { authorization: "Bearer of the client" };
    expect(await upstream({ route: guardedRoute, headers })).toMatchObject({ kind: "resource" });
    expect([receivedRequests[0]?.url, receivedRequests[0]?.headers.get("Authorization")]).toEqual([
      `${origin}/data`,
      `Basic ${btoa("seller:p@ss")}`,
    ]);
  });

  it("forwards method and body", async () => {
    const { upstream, receivedRequests, origin } = await openUpstream(() => json("1"));
    const postedRoute = { ...route, method: "POST", upstream: new URL(origin) } as const;
    await upstream({ route: postedRoute, body: new TextEncoder().encode("hello") });
    expect([receivedRequests[0]?.method, await receivedRequests[0]?.text()]).toEqual(["POST", "hello"]);
  });

  it("sets the route's media type if the upstream omits it", async () => {
    const { upstream } = await openUpstream(() => new Response(new Uint8Array([1])));
    expect(await upstream()).toMatchObject({
      response: { headers: [["content-type", "application/json"]] },
    });
  });

  it.each<[string, RespondToRequest, object]>([
    ["500", () => new Response("oops", { status: 500 }), { status: 502, message: "the upstream returned HTTP 500" }],
    ["a redirect", () => Response.redirect("http://elsewhere.test/"), { message: "the upstream returned HTTP 302" }],
    ["206", () => json("1", { status: 206 }), { status: 502, message: "the upstream returned HTTP 206" }],
    ["402", () => new Response("pay me", { status: 402 }), { message: "the upstream returned HTTP 402" }],
    [
      "another media type",
      () => new Response("<p>", { headers: { "Content-Type": "text/html" } }),
      { status: 502, message: "the upstream returned text/html, but the route sells application/json" },
    ],
    [
      "too large a body",
      () => json("x".repeat(17)),
      { status: 502, message: "the upstream's response can't be sold: the body is larger than 16 bytes" },
    ],
    [
      "a connection closed without a response",
      () => Promise.reject(new TypeError("secret.internal")),
      { status: 502, message: "the upstream closed the connection before its response was complete" },
    ],
    [
      "a response cut off",
      () => new Response(respondPartly(), { headers: { "Content-Type": "application/json" } }),
      { status: 502, message: "the upstream closed the connection before its response was complete" },
    ],
    [
      "a body that is not in its encoding",
      () => new Response("{}", { headers: { "Content-Type": "application/json", "Content-Encoding": "gzip" } }),
      { status: 502, message: "the upstream's response is not valid HTTP" },
    ],
  ])("fails on %s", async (_name, respond, failure) => {
    expect(await (await openUpstream(respond)).upstream()).toMatchObject({ kind: "failed", ...failure });
  });

  it("fails on an upstream that does not listen", async () => {
    const { upstream } = await openUpstream(() => json("1"));
    await servers.pop()?.[Symbol.asyncDispose]();
    expect(await upstream()).toMatchObject({ status: 502, message: "the upstream can't be reached" });
  });

  it.each<[string, RespondToRequest, (() => AbortSignal) | undefined, object]>([
    ["the response", respondNever, undefined, { status: 504, message: "the upstream took longer than 20 ms" }],
    ["the body", respondEndlessly, undefined, { status: 504 }],
    [
      "a stopping server's upstream",
      respondNever,
      () => AbortSignal.timeout(10),
      { status: 503, message: "the server is stopping" },
    ],
  ])("times out if %s takes too long", async (_, respond, signal, failure) => {
    const { upstream } = await openUpstream(respond, { timeoutMs: signal === undefined ? 20 : 60_000 }, signal?.());
    expect(await upstream()).toMatchObject({ kind: "failed", ...failure });
  });

  it("returns the upstream's 404 as declined", async () => {
    const { upstream } = await openUpstream(() => json('{"error":1}', { status: 404 }));
    expect(await upstream()).toMatchObject({ kind: "declined", response: { status: 404 } });
  });

  it("returns busy without a request while there is too little memory for the last response's size", async () => {
    const { upstream, receivedRequests } = await openUpstream(() => json('{"a":1}'));
    let free = 10;
    const memory = {
      tryAcquire: (bytes: number) => {
        if (bytes > free) return false;
        free -= bytes;
        return true;
      },
      release: (bytes: number) => {
        free += bytes;
      },
    };
    expect([(await upstream({ memory })).kind, free]).toEqual(["resource", 3]);
    expect(await upstream({ memory })).toEqual({ kind: "busy" });
    expect([receivedRequests.length, free]).toEqual([1, 3]);
    free = 10;
    expect((await upstream({ memory })).kind).toBe("resource");
  });

  it("returns busy for a response over the memory limit", async () => {
    const { upstream } = await openUpstream(() => json('{"a":1}'));
    const memory = { tryAcquire: (bytes: number) => bytes < 5, release: () => undefined };
    expect(await upstream({ memory })).toEqual({ kind: "busy" });
  });

  it("holds only the bytes of the current response", async () => {
    const bodies = ["[1,2,3,4]", "[1]"];
    const { upstream } = await openUpstream(() => json(bodies.shift() ?? ""));
    let heldRequests = 0;
    const memory = {
      tryAcquire: (bytes: number) => ((heldRequests += bytes), true),
      release: (bytes: number) => void (heldRequests -= bytes),
    };
    await upstream({ memory });
    heldRequests = 0;
    await upstream({ memory });
    expect(heldRequests).toBe(3);
  });
});
