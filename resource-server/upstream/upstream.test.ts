import { startTrace } from "#daemon/http/request-trace.ts";
import { describe, expect, it } from "vitest";
import { route } from "../testing/payments.ts";
import type { Fetch } from "../http-client.ts";
import { createUpstream, type PaidRequest } from "./upstream.ts";

type Answer = (request: Request) => Response | Promise<Response>;

function upstreamOf(
  answer: Answer,
  limits: Partial<Parameters<typeof createUpstream>[0]> = {},
  signal = new AbortController().signal,
) {
  const seen: Request[] = [];
  const fetch: Fetch = async (input, init) => {
    const request = new Request(input, init);
    seen.push(request);
    const late = new Promise<never>((_, reject) => {
      init.signal.addEventListener("abort", () => reject(init.signal.reason as Error));
    });
    return Promise.race([answer(request), late]);
  };
  const options = { timeoutMs: 5_000, responseLimitBytes: 16, ...limits };
  const upstream = createUpstream(options, { fetch, signal });
  return { upstream, seen };
}

function paidRequest(change: Partial<PaidRequest> = {}): PaidRequest {
  return {
    route,
    target: "/data",
    headers: {},
    body: undefined,
    origin: { clientAddress: "192.0.2.7", protocol: "https", host: "shop.test", requestId: "r-1", trace: startTrace() },
    memory: { tryAcquire: () => true, release: () => undefined },
    ...change,
  };
}

const json = (body: string, init?: ResponseInit) =>
  new Response(body, { headers: { "Content-Type": "application/json; charset=utf-8" }, ...init });

describe("upstream", () => {
  it("forwards to the route's URL with both queries and gives the whole response", async () => {
    const { upstream, seen } = upstreamOf(() => json('{"a":1}'));
    expect(await upstream(paidRequest({ target: "/data?x=1&y=%20" }))).toEqual({
      kind: "resource",
      response: {
        status: 200,
        headers: [["content-type", "application/json; charset=utf-8"]],
        body: new TextEncoder().encode('{"a":1}'),
      },
    });
    expect(seen[0]?.url).toBe("http://upstream.test/data?fixed=1&x=1&y=%20");
  });

  it("sends credentials of the route's URL, never a client's in their place", async () => {
    const { upstream, seen } = upstreamOf(() => json("1"));
    const guarded = { ...route, upstream: new URL("http://seller:p%40ss@upstream.test/data") };
    const headers = { authorization: "Bearer of the client" };
    expect(await upstream(paidRequest({ route: guarded, headers }))).toMatchObject({ kind: "resource" });
    expect([seen[0]?.url, seen[0]?.headers.get("Authorization")]).toEqual([
      "http://upstream.test/data",
      `Basic ${btoa("seller:p@ss")}`,
    ]);
  });

  it("forwards method and body", async () => {
    const { upstream, seen } = upstreamOf(async () => json("1"));
    await upstream(paidRequest({ route: { ...route, method: "POST" }, body: new TextEncoder().encode("hello") }));
    expect([seen[0]?.method, await seen[0]?.text()]).toEqual(["POST", "hello"]);
  });

  it("gives the route's media type when the upstream gives none", async () => {
    const { upstream } = upstreamOf(() => new Response(new Uint8Array([1])));
    expect(await upstream(paidRequest())).toMatchObject({
      response: { headers: [["content-type", "application/json"]] },
    });
  });

  it.each<[string, Answer, object]>([
    ["500", () => new Response("oops", { status: 500 }), { status: 502, message: "the upstream returned HTTP 500" }],
    ["a redirect", () => Response.redirect("http://elsewhere.test/"), { message: "the upstream returned HTTP 302" }],
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
      "no connection",
      () => Promise.reject(new TypeError("fetch failed: secret.internal")),
      { status: 502, message: "the upstream can't be reached" },
    ],
  ])("has nothing to sell on %s", async (_name, answer, failure) => {
    expect(await upstreamOf(answer).upstream(paidRequest())).toMatchObject({ kind: "failed", ...failure });
  });

  it("gives up when the upstream takes too long", async () => {
    const { upstream } = upstreamOf(() => new Promise(() => undefined), { timeoutMs: 20 });
    expect(await upstream(paidRequest())).toEqual({
      kind: "failed",
      status: 504,
      message: "the upstream took longer than 20 ms",
    });
  });

  it("gives up when the server stops", async () => {
    const { upstream } = upstreamOf(() => new Promise(() => undefined), {}, AbortSignal.timeout(20));
    expect(await upstream(paidRequest())).toEqual({ kind: "failed", status: 503, message: "the server is stopping" });
  });

  it("gives up when the body takes too long", async () => {
    const endless = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array([1])) });
    const { upstream } = upstreamOf(
      ({ signal }) => {
        const body = new TransformStream();
        void endless.pipeTo(body.writable, { signal }).catch(() => undefined);
        return new Response(body.readable, { headers: { "Content-Type": "application/json" } });
      },
      { timeoutMs: 20 },
    );
    expect(await upstream(paidRequest())).toMatchObject({ kind: "failed", status: 504 });
  });

  it("hands the upstream's own refusal on", async () => {
    const { upstream } = upstreamOf(() => json('{"error":1}', { status: 404 }));
    expect(await upstream(paidRequest())).toMatchObject({ kind: "declined", response: { status: 404 } });
  });

  it("asks nothing of the upstream when there is no room for what the route gave before, and is good again after that", async () => {
    const { upstream, seen } = upstreamOf(() => json('{"a":1}'));
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
    expect([(await upstream(paidRequest({ memory }))).kind, free]).toEqual(["resource", 3]);
    expect(await upstream(paidRequest({ memory }))).toEqual({ kind: "busy" });
    expect([seen.length, free]).toEqual([1, 3]);
    free = 10;
    expect((await upstream(paidRequest({ memory }))).kind).toBe("resource");
  });

  it("gives nothing of a response that there is no room for", async () => {
    const { upstream } = upstreamOf(() => json('{"a":1}'));
    const memory = { tryAcquire: (bytes: number) => bytes < 5, release: () => undefined };
    expect(await upstream(paidRequest({ memory }))).toEqual({ kind: "busy" });
  });

  it("holds as many bytes as the response has, not as many as one before it", async () => {
    const bodies = ["[1,2,3,4]", "[1]"];
    const { upstream } = upstreamOf(() => json(bodies.shift() ?? ""));
    let held = 0;
    const memory = {
      tryAcquire: (bytes: number) => ((held += bytes), true),
      release: (bytes: number) => void (held -= bytes),
    };
    await upstream(paidRequest({ memory }));
    held = 0;
    await upstream(paidRequest({ memory }));
    expect(held).toBe(3);
  });
});
