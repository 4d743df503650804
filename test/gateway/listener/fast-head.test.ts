import { describe, expect, it } from "vitest";
import clientShapes from "../../bench/gateway/client-shapes.json" with { type: "json" };
import { mayBeFast, readFastHead } from "#gateway/listener/fast-requests.ts";

const headOf = (...lines: string[]) => `${lines.join("\r\n")}\r\n\r\n`;
const post = (...lines: string[]) => headOf("POST / HTTP/1.1", "Host: rpc.example", ...lines);
const json = "Content-Type: application/json";

/** Request heads sent by a proxy in front of the gateway, or with unusual lines, in addition to the recorded ones. */
const others: Readonly<Record<string, readonly string[]>> = {
  "Java's HttpClient": ["Connection: Upgrade, HTTP2-Settings", "HTTP2-Settings: AAEAAEAAAAIA", "Upgrade: h2c", json],
  "web3j over OkHttp": ["Content-Type: application/json; charset=utf-8", "Connection: Keep-Alive"],
  HAProxy: ["x-forwarded-for: 203.0.113.7", "via: 1.1 haproxy", json],
  Envoy: [
    "x-forwarded-for: 203.0.113.7",
    "x-envoy-expected-rq-timeout-ms: 15000",
    "x-request-id: 4b1a3f7e-6d52-4a0b-9d0e-0f4c2a3b5d6e",
    "content-type: application/json",
  ],
};

describe("the request head on the fast path", () => {
  it.each(clientShapes)("is parsed from $client", ({ head }) => {
    const length = Number(/content-length: (\d+)/i.exec(head.join("\n"))?.[1]);
    expect(readFastHead(headOf(...head))).toMatchObject({ method: "POST", lengthBytes: length });
  });

  it.each(Object.entries(others))("is parsed from %s", (_, lines) => {
    expect(readFastHead(post(...lines, "Content-Length: 61"))).toMatchObject({ lengthBytes: 61, host: "rpc.example" });
  });

  it("contains the caller's credential, addresses, trace and origin", () => {
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const lines = [`traceparent: ${traceparent}`, "Authorization: Bearer k", "X-Forwarded-For: 10.0.0.1, 10.0.0.2"];
    expect(readFastHead(post(json, "Content-Length: 2", ...lines, "Origin: https://a", "X-Request-Id: r-1"))).toEqual({
      method: "POST",
      version: "1.1",
      lengthBytes: 2,
      facts: {
        authorization: "Bearer k",
        forwardedFor: "10.0.0.1, 10.0.0.2",
        traceContext: { traceparent, tracestate: undefined },
        requestId: "r-1",
      },
      origin: "https://a",
      host: "rpc.example",
      isLast: false,
    });
  });

  it.each(["GET", "HEAD", "OPTIONS"])("has no body for %s", (method) => {
    expect(readFastHead(headOf(`${method} / HTTP/1.1`, "Host: a"))).toMatchObject({ method });
    expect(readFastHead(headOf(`${method} / HTTP/1.1`, "Host: a", "Content-Length: 1"))).toBeUndefined();
  });

  it.each([
    ["no host", headOf("POST / HTTP/1.1", json, "Content-Length: 2")],
    ["two hosts", post("Host: other", json, "Content-Length: 2")],
    ["a length with a sign", post(json, "Content-Length: +2")],
    ["a different encoding", post(json, "Transfer-Encoding: gzip, chunked")],
    ["an absolute target", headOf("POST http://a/ HTTP/1.1", "Host: a", json, "Content-Length: 2")],
    ["a folded line", post(json, "Content-Length: 2", "X-A: 1\r\n b")],
    ["a control character", post(json, "Content-Length: 2", "X-A: \u0000")],
    ["a line without a name", post(json, "Content-Length: 2", ": 1")],
    ["a line without a colon", post(json, "Content-Length: 2", "X-A")],
    ["an expectation", post(json, "Content-Length: 2", "Expect: 100-continue")],
    ["an expectation without a body", headOf("OPTIONS / HTTP/1.1", "Host: a", "Expect: 100-continue")],
    ["a fragment", headOf("POST /?a#b HTTP/1.1", "Host: a", json, "Content-Length: 2")],
    ["a second origin", post(json, "Content-Length: 2", "Origin: https://a", "Origin: https://b")],
    ["close among other connection options", post(json, "Content-Length: 2", "Connection: keep-alive, Close")],
    ["a WebSocket upgrade", headOf("GET / HTTP/1.1", "Host: a", "Connection: Upgrade", "Upgrade: websocket")],
    ["a content type other than JSON", post("Content-Type: text/plain", "Content-Length: 2")],
    ["a different path", headOf("POST /x HTTP/1.1", "Host: a", json, "Content-Length: 2")],
    ["a later version", headOf("POST / HTTP/1.2", "Host: a", json, "Content-Length: 2")],
    ["chunks in HTTP/1.0", headOf("POST / HTTP/1.0", "Host: a", json, "Transfer-Encoding: chunked")],
    ["an upgrade in HTTP/1.0", headOf("POST / HTTP/1.0", json, "Content-Length: 2", "Upgrade: h2c")],
    ["two hosts in HTTP/1.0", headOf("POST / HTTP/1.0", "Host: a", "Host: b", json, "Content-Length: 2")],
    ["no target", headOf("POST  HTTP/1.1", "Host: a", json, "Content-Length: 2")],
    ["too many lines", post(json, "Content-Length: 2", ...Array.from({ length: 200 }, () => "X-A: 1"))],
  ])("is left to node:http for %s", (_, head) => {
    expect(readFastHead(head)).toBeUndefined();
  });

  it.each(["P", "POST / HT", "POST / HTTP/1.1\r\nHo", "OPTIONS / ", "POST /?a=b", "GET /?a HTTP"])(
    "may start with %j",
    (start) => expect(mayBeFast(start)).toBe(true),
  );

  it.each(["PUT", "POST /x", "POST / HTTP/1.1\n", "\u0016\u0003\u0001", "POST /?\u0000", "POST?a /", "POST http://a/"])(
    "cannot start with %j",
    (start) => expect(mayBeFast(start)).toBe(false),
  );
});
