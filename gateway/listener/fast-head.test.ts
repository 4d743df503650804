import { describe, expect, it } from "vitest";
import { mayBeFast, readFastHead } from "./fast-head.ts";

const headOf = (...lines: string[]) => `${lines.join("\r\n")}\r\n\r\n`;
const post = (...lines: string[]) => headOf("POST / HTTP/1.1", "Host: rpc.example", ...lines);
const json = "Content-Type: application/json";

/** Heads as sent by clients, and by proxies in front of the gateway. */
const clients: Readonly<Record<string, readonly string[]>> = {
  "viem and ethers on Node": [
    "connection: keep-alive",
    json,
    "accept: */*",
    "accept-language: *",
    "sec-fetch-mode: cors",
    "user-agent: node",
    "accept-encoding: gzip, deflate",
    "content-length: 61",
  ],
  "web3.py": [
    "User-Agent: web3.py/7.6.0/web3.providers.rpc.rpc.HTTPProvider",
    "Accept-Encoding: gzip, deflate, br, zstd",
    "Accept: */*",
    "Connection: keep-alive",
    json,
    "Content-Length: 61",
  ],
  "go-ethereum's ethclient": [
    "User-Agent: Go-http-client/1.1",
    "Content-Length: 61",
    "Accept: application/json",
    json,
    "Accept-Encoding: gzip",
  ],
  "Java's HttpClient": [
    "Connection: Upgrade, HTTP2-Settings",
    "Content-Length: 61",
    "HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA",
    "Upgrade: h2c",
    "User-Agent: Java-http-client/21.0.2",
    json,
  ],
  "web3j over OkHttp": [
    "Content-Type: application/json; charset=utf-8",
    "Content-Length: 61",
    "Connection: Keep-Alive",
    "Accept-Encoding: gzip",
    "User-Agent: okhttp/4.12.0",
  ],
  Chrome: [
    "Connection: keep-alive",
    "Content-Length: 61",
    'sec-ch-ua: "Chromium";v="131", "Not_A Brand";v="24"',
    "sec-ch-ua-mobile: ?0",
    "Origin: https://app.example",
    "Referer: https://app.example/",
    "Cookie: _ga=GA1.1.1.1; session=abc",
    json,
    "Sec-Fetch-Site: cross-site",
    "DNT: 1",
    "Priority: u=1, i",
  ],
  "nginx in front": [
    "X-Real-IP: 203.0.113.7",
    "X-Forwarded-For: 203.0.113.7",
    "X-Forwarded-Host: rpc.example",
    "X-Forwarded-Proto: https",
    "X-Scheme: https",
    "X-Request-ID: 2f1c7a5d3b9e4f60",
    "Content-Length: 61",
    json,
  ],
  "Envoy in front": [
    "x-forwarded-for: 203.0.113.7",
    "x-forwarded-proto: https",
    "x-envoy-expected-rq-timeout-ms: 15000",
    "x-envoy-attempt-count: 1",
    "x-request-id: 4b1a3f7e-6d52-4a0b-9d0e-0f4c2a3b5d6e",
    "x-b3-traceid: 80f198ee56343ba864fe8b2a57d3eff7",
    "content-length: 61",
    "content-type: application/json",
  ],
  "HAProxy in front": ["x-forwarded-for: 203.0.113.7", "via: 1.1 haproxy", json, "content-length: 61"],
  "a streaming client": ["Transfer-Encoding: chunked", json],
};

describe("the fast path's head", () => {
  it.each(Object.entries(clients))("is read of %s", (_, lines) => {
    const framing = lines.includes("Transfer-Encoding: chunked") ? { kind: "chunked" } : { kind: "length", bytes: 61 };
    expect(readFastHead(post(...lines))).toMatchObject({ method: "POST", framing, host: "rpc.example" });
  });

  it("says who asks, from where and in which trace", () => {
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const said = [`traceparent: ${traceparent}`, "Authorization: Bearer k", "X-Forwarded-For: 10.0.0.1, 10.0.0.2"];
    expect(readFastHead(post(json, "Content-Length: 2", ...said, "Origin: https://a", "X-Request-Id: r-1"))).toEqual({
      method: "POST",
      version: "1.1",
      framing: { kind: "length", bytes: 2 },
      authorization: "Bearer k",
      forwardedFor: "10.0.0.1, 10.0.0.2",
      traceContext: { traceparent, tracestate: undefined },
      requestId: "r-1",
      origin: "https://a",
      host: "rpc.example",
      isAwaited: false,
      isLast: false,
    });
  });

  it("is read with a query, with lists in several lines, and of a client that waits to be told to go on", () => {
    const lists = ["X-Forwarded-For: 10.0.0.1", "X-Forwarded-For: 10.0.0.2", "Connection: keep-alive, X-Own"];
    const head = headOf(
      "POST /?key=abc HTTP/1.1",
      "Host: a",
      json,
      "Content-Length: 2",
      "Expect: 100-continue",
      ...lists,
    );
    expect(readFastHead(head)).toMatchObject({ forwardedFor: "10.0.0.1, 10.0.0.2", isAwaited: true });
  });

  it("is read of a proxy that speaks HTTP/1.0 and of a client that closes, and says that the connection ends", () => {
    const old = (...lines: string[]) => readFastHead(headOf("POST / HTTP/1.0", json, "Content-Length: 2", ...lines));
    expect(old("Host: a", "Connection: close")).toMatchObject({ version: "1.0", host: "a", isLast: true });
    expect(old()).toMatchObject({ version: "1.0", host: undefined, isLast: true });
    expect(old("Connection: Keep-Alive")).toMatchObject({ version: "1.0", isLast: false });
    const last = readFastHead(post(json, "Content-Length: 2", "Connection: Close"));
    expect(last).toMatchObject({ version: "1.1", isLast: true });
  });

  it.each([
    ["http://b.example:8545/", "b.example:8545"],
    ["http://B.example", "b.example"],
    ["https://b.example:443/?key=a", "b.example"],
  ])("is read with the absolute target %s, whose host counts", (target, host) => {
    const head = headOf(`POST ${target} HTTP/1.1`, "Host: a", json, "Content-Length: 2");
    expect(readFastHead(head)).toMatchObject({ method: "POST", host });
  });

  it.each(["GET", "HEAD", "OPTIONS"])("is read of a %s without a body", (method) => {
    expect(readFastHead(headOf(`${method} / HTTP/1.1`, "Host: a"))).toMatchObject({ method });
    expect(readFastHead(headOf(`${method} / HTTP/1.1`, "Host: a", "Content-Length: 1"))).toBeUndefined();
  });

  it.each([
    ["no host", headOf("POST / HTTP/1.1", json, "Content-Length: 2")],
    ["two hosts", post("Host: other", json, "Content-Length: 2")],
    ["two lengths", post(json, "Content-Length: 2", "Content-Length: 2")],
    ["a length with a sign", post(json, "Content-Length: +2")],
    ["both framings", post(json, "Content-Length: 2", "Transfer-Encoding: chunked")],
    ["another encoding", post(json, "Transfer-Encoding: gzip, chunked")],
    ["a name with a space", post(json, "Content-Length: 2", "Transfer-Encoding : chunked")],
    ["a folded line", post(json, "Content-Length: 2", "X-A: 1\r\n b")],
    ["a control character", post(json, "Content-Length: 2", "X-A: \u0000")],
    ["a line feed alone", post(json, "Content-Length: 2", "X-A: 1\nTransfer-Encoding: chunked")],
    ["a line without a name", post(json, "Content-Length: 2", ": 1")],
    ["a line without a colon", post(json, "Content-Length: 2", "X-A")],
    ["an unknown expectation", post(json, "Content-Length: 2", "Expect: 200-ok")],
    ["an expectation without a body", headOf("OPTIONS / HTTP/1.1", "Host: a", "Expect: 100-continue")],
    ["an awaited body of chunks", post(json, "Transfer-Encoding: chunked", "Expect: 100-continue")],
    ["a fragment", headOf("POST /?a#b HTTP/1.1", "Host: a", json, "Content-Length: 2")],
    ["a second origin", post(json, "Content-Length: 2", "Origin: https://a", "Origin: https://b")],
    ["the connection's end among others", post(json, "Content-Length: 2", "Connection: keep-alive, Close")],
    ["a WebSocket's upgrade", headOf("GET / HTTP/1.1", "Host: a", "Connection: Upgrade", "Upgrade: websocket")],
    ["no JSON", post("Content-Type: text/plain", "Content-Length: 2")],
    ["another path", headOf("POST /x HTTP/1.1", "Host: a", json, "Content-Length: 2")],
    ["a later version", headOf("POST / HTTP/1.2", "Host: a", json, "Content-Length: 2")],
    ["chunks of HTTP/1.0", headOf("POST / HTTP/1.0", "Host: a", json, "Transfer-Encoding: chunked")],
    ["an expectation of HTTP/1.0", headOf("POST / HTTP/1.0", json, "Content-Length: 2", "Expect: 100-continue")],
    ["an upgrade of HTTP/1.0", headOf("POST / HTTP/1.0", json, "Content-Length: 2", "Upgrade: h2c")],
    ["two hosts of HTTP/1.0", headOf("POST / HTTP/1.0", "Host: a", "Host: b", json, "Content-Length: 2")],
    [
      "an expectation before the connection's end",
      post(json, "Content-Length: 2", "Connection: close", "Expect: 100-continue"),
    ],
    ["no target", headOf("POST  HTTP/1.1", "Host: a", json, "Content-Length: 2")],
    ["another path of an absolute target", headOf("POST http://a/x HTTP/1.1", "Host: a", json, "Content-Length: 2")],
    [
      "a name and a password in the target",
      headOf("POST http://a:b@c/ HTTP/1.1", "Host: a", json, "Content-Length: 2"),
    ],
    ["an invalid host", headOf("POST http://a:99999/ HTTP/1.1", "Host: a", json, "Content-Length: 2")],
    ["an absolute target, but no host", headOf("POST http://a/ HTTP/1.1", json, "Content-Length: 2")],
    ["more lines than anybody sends", post(json, "Content-Length: 2", ...Array.from({ length: 200 }, () => "X-A: 1"))],
  ])("is left to node:http with %s", (_, head) => {
    expect(readFastHead(head)).toBeUndefined();
  });

  it("is waited for only while it may become one", () => {
    const fast = [
      "P",
      "POST / HT",
      "POST / HTTP/1.1\r\nHo",
      "OPTIONS / ",
      "POST /?a=b",
      "GET /?a HTTP",
      "POST h",
      "POST https:",
      "POST http://a.b/",
    ];
    expect(fast.filter((start) => !mayBeFast(start))).toEqual([]);
    const odd = [
      "PUT",
      "POST /x",
      "POST / HTTP/1.1\n",
      "\u0016\u0003\u0001",
      "POST /?\u0000",
      "POST ftp:",
      "POST http://a/x",
    ];
    expect(odd.filter((start) => mayBeFast(start))).toEqual([]);
  });
});
