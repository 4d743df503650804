import { hash } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeSharedDirectory } from "#daemon/testing/test-directory.ts";
import { startFakeNode, type FakeNode } from "#gateway/testing/fake-node.ts";
import { limitlessTier } from "#gateway/testing/limitless-tier.ts";
import { sendRaw } from "#gateway/testing/raw-exchange.ts";
import { startTestGateway, type TestGateway } from "#gateway/testing/test-gateway.ts";

const key = "a-key-of-the-operator";
const call = '{"jsonrpc":"2.0","id":1,"method":"eth_coinbase"}';

const post = (target: string, ...lines: string[]) =>
  [`POST ${target} HTTP/1.1`, "Host: a", "Content-Type: application/json", `Content-Length: ${call.length}`, ...lines]
    .concat("", call)
    .join("\r\n");
const right = post("/", `Authorization: Bearer ${key}`);

/** Unusual but well-formed requests. */
const odd: readonly (readonly [what: string, request: string])[] = [
  ["a wrong key", post("/", "Authorization: Bearer wrong")],
  ["no key", post("/")],
  ["a query", post("/?app=a", `Authorization: Bearer ${key}`)],
  [
    "header lines of several proxies",
    post("/", `Authorization: Bearer ${key}`, "X-Forwarded-For: a", "X-Forwarded-For: b"),
  ],
  ["a connection option", post("/", `Authorization: Bearer ${key}`, "Connection: keep-alive, X-Own")],
  ["a long head", post("/", `Authorization: Bearer ${key}`, `Cookie: ${"a".repeat(16_000)}`)],
  ["HTTP/1.0, kept", right.replace("HTTP/1.1", "HTTP/1.0").replace("Host: a", "Connection: keep-alive")],
];

const exchange = ({ urls }: TestGateway, requests: readonly string[]) =>
  sendRaw(
    urls["private"] ?? "",
    requests.map((text) => Buffer.from(text)),
    { expected: requests.length, quietMs: 50 },
  );

/** Requests after which the connection is closed, with their responses. */
const last: readonly (readonly [what: string, request: string])[] = [
  ["HTTP/1.0", right.replace("HTTP/1.1", "HTTP/1.0")],
  ["HTTP/1.0 without a host", right.replace("HTTP/1.1", "HTTP/1.0").replace("Host: a\r\n", "")],
  ["a call after which the client closes", post("/", `Authorization: Bearer ${key}`, "Connection: close")],
  ["no key, from a client that closes", post("/", "Connection: close")],
  ["a health check of HTTP/1.0", "GET / HTTP/1.0\r\n\r\n"],
];

const undated = (text: string) => text.replaceAll(/^Date: .*$/gm, "Date");

describe("a connection on the fast path", () => {
  const folder = makeSharedDirectory();
  let node: FakeNode;
  let fast: TestGateway;
  let slow: TestGateway;
  const taken: string[] = [];
  /** Counts each request that node:http receives in this process. */
  const note = (message: unknown) => {
    const { request } = message as Readonly<{ request: IncomingMessage }>;
    taken.push(String(request.socket.localPort));
  };
  const byNodeHttp = ({ urls }: TestGateway) =>
    taken.filter((port) => port === new URL(urls["private"] ?? "").port).length;

  beforeAll(async () => {
    const keys = [{ name: "ops", sha256: hash("sha256", key), tier: "paid" }];
    await writeFile(join(folder, "keys.json5"), JSON.stringify({ keys }));
    const settings = {
      tiers: { public: limitlessTier, paid: limitlessTier },
      private: { enabled: true, port: 0 },
      callers: { keysPath: join(folder, "keys.json5") },
      head: { tellAgeAfterMs: 86_400_000 },
    };
    node = await startFakeNode();
    fast = await startTestGateway(node, settings);
    slow = await startTestGateway(node, { ...settings, listener: { fastPath: false } });
    subscribe("http.server.request.start", note);
  });
  afterAll(async () => {
    unsubscribe("http.server.request.start", note);
    await fast[Symbol.asyncDispose]();
    await slow[Symbol.asyncDispose]();
    await node[Symbol.asyncDispose]();
  });

  it.each(odd)("stays there for %s, with the same response as from node:http", async (_, request) => {
    const requests = [right, request, right];
    const [one, other] = [await exchange(fast, requests), await exchange(slow, requests)];
    expect(undated(one)).toBe(undated(other));
    expect(one.match(/"result":"0x0"/g)?.length).toBeGreaterThanOrEqual(2);
    expect(byNodeHttp(fast)).toBe(0);
    expect(byNodeHttp(slow)).toBeGreaterThan(0);
  });

  it.each(last)("is closed after %s, with the same response as from node:http", async (_, request) => {
    const before = byNodeHttp(fast);
    const [one, other] = [await exchange(fast, [right, request]), await exchange(slow, [right, request])];
    expect(undated(one)).toBe(undated(other));
    expect(one.match(/HTTP\/1\.1 \d/g)).toHaveLength(2);
    expect(one.match(/Connection: close\r/g)).toHaveLength(1);
    expect(byNodeHttp(fast)).toBe(before);
  });

  it("handles a preflight with Expect: 100-continue like node:http, with no interim response", async () => {
    const preflight = "OPTIONS / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n";
    const [one, other] = [await exchange(fast, [preflight]), await exchange(slow, [preflight])];
    expect(undated(one)).toBe(undated(other));
    expect(one).toMatch(/^HTTP\/1\.1 204 /);
  });
});
