import { hash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { WebSocket } from "ws";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeSharedDirectory } from "#daemon/testing/test-directory.ts";
import { responseWritten, startFakeNode, type FakeNode } from "#gateway/testing/fake-node.ts";
import { sendRaw } from "#gateway/testing/raw-exchange.ts";
import { limitlessTier } from "#gateway/testing/limitless-tier.ts";
import { call, post, startTestGateway, type TestGateway } from "#gateway/testing/test-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { openRaw } from "../../support/gateway/raw-call.ts";

const key = "a-key-for-attacks";
const coinbase = '{"jsonrpc":"2.0","id":1,"method":"eth_coinbase"}';
const syncing = '{"jsonrpc":"2.0","id":1,"method":"eth_syncing"}';

const bodyOf = (method: string, params: unknown) => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });

const colliding = (count: number) => Array.from({ length: count }, (_, at) => `"${at * 4_294_967}":0`).join(",");

describe("attacks on the listeners", () => {
  let node: FakeNode;
  let gateway: TestGateway;
  const folder = makeSharedDirectory();
  beforeAll(async () => {
    const sha256 = hash("sha256", key);
    await writeFile(join(folder, "keys.json5"), JSON.stringify({ keys: [{ name: "ops", sha256, tier: "wide" }] }));
    node = await startFakeNode();
    gateway = await startTestGateway(node, {
      tiers: {
        public: { ...limitlessTier, methods: ["eth_getLogs", "eth_getBlockReceipts", "eth_syncing", "eth_coinbase"] },
        wide: { ...limitlessTier, logsBlocks: 5_000, splitBlocks: 50_000 },
        internal: { ...limitlessTier, logsBlocks: 10_000 },
      },
      private: { enabled: true },
      internal: { enabled: true },
      callers: { keysPath: join(folder, "keys.json5") },
    });
  });
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await node[Symbol.asyncDispose]();
  });
  const privately = async (body: string) => {
    const { text, headers } = await post(gateway.urls["private"]!, body, { Authorization: `Bearer ${key}` });
    return { text, source: headers.get("x-gatehouse-source") };
  };

  it("the cache never serves a tier a result that the tier may not request", async () => {
    node.respondAs(({ method }) => [method]);
    const wide = bodyOf("eth_getLogs", [{ fromBlock: "0x1", toBlock: "0x200" }]);
    const states = bodyOf("debug_getBlockReadStates", ["0x1"]);
    const price = bodyOf("eth_gasPrice", []);
    for (const source of ["node", "cache"]) expect((await privately(wide)).source).toBe(source);
    for (const body of [states, states]) await post(gateway.urls["internal"]!, body);
    for (const source of ["node", "cache"]) expect((await privately(price)).source).toBe(source);
    for (const [body, code] of [
      [wide, -32602],
      [states, -32601],
      [price, -32601],
    ] as const) {
      const { text, headers } = await post(gateway.url, body);
      expect(text).toContain(`"code":${code}`);
      expect(headers.get("x-gatehouse-source")).toBe("gateway");
    }
    expect((await privately(states)).text).toContain("-32601");
  });

  it("a tier never shares a call in flight that it may not make itself", async () => {
    let finish: (() => void) | undefined;
    node.respondAs(({ id }, response) => {
      finish = () => response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":["secret"]}`);
      return responseWritten;
    });
    const wide = bodyOf("eth_getLogs", [{ fromBlock: "0x2", toBlock: "0x201" }]);
    const first = privately(wide);
    await until("the call is at the node", generousMs, () => finish !== undefined);
    expect((await post(gateway.url, wide)).text).toContain("block range too large");
    finish?.();
    expect((await first).text).toContain("secret");
  });

  it("the only client header forwarded to the node is a well-formed traceparent", async () => {
    const seen: Record<string, unknown>[] = [];
    node.respondAs((_, response) => {
      seen.push(response.req.headers);
      return "0x1";
    });
    const spoofed = {
      "X-Forwarded-For": "127.0.0.1",
      "X-Real-IP": "127.0.0.1",
      "X-Forwarded-Host": "internal",
      Forwarded: "for=127.0.0.1",
      Authorization: "Bearer admin",
      Cookie: "a=b",
      "X-Original-URL": "/internal",
      "X-HTTP-Method-Override": "PUT",
      traceparent: "00-zz-zz-01",
    };
    await post(gateway.url, syncing, spoofed);
    const { host, ...others } = seen[0]!;
    expect(host).toBe(new URL(node.httpUrl).host);
    expect(others).toEqual({ "content-type": "application/json", "content-length": expect.any(String) as string });
  });

  it("a spoofed address does not create a new caller", async () => {
    const few = { ...limitlessTier, requestsPerSecond: 0.001, requestBurst: 3 };
    await using limitedGateway = await startTestGateway(node, { tiers: { public: few } });
    const statuses: number[] = [];
    for (let at = 0; at < 6; at += 1) {
      const spoofed = { "X-Forwarded-For": `10.0.0.${at}`, "X-Real-IP": `10.1.0.${at}`, Forwarded: `for=10.2.0.${at}` };
      statuses.push((await post(limitedGateway.url, coinbase, spoofed)).status);
    }
    expect(statuses).toEqual([200, 200, 200, 429, 429, 429]);
  });

  it("a batch costs as much as its individual calls, whatever it contains", async () => {
    const few = { ...limitlessTier, requestsPerSecond: 0.001, requestBurst: 10 };
    await using limitedGateway = await startTestGateway(node, { tiers: { public: few } });
    const asked = node.requests.length;
    node.respondAs(() => "0x1");
    const batch = await post(limitedGateway.url, `[${Array.from({ length: 1_000 }, () => syncing).join(",")}]`);
    const items = JSON.parse(batch.text) as { error?: { code: number } }[];
    expect(items.filter(({ error }) => error?.code === -32005)).toHaveLength(990);
    expect(node.requests.length - asked).toBe(10);
    expect((await post(limitedGateway.url, coinbase)).status).toBe(429);
  });

  it("a cross-origin page, or a rebound name, reaches the internal listener neither over HTTP nor WebSocket", async () => {
    const url = gateway.urls["internal"]!;
    const { port } = new URL(url);
    for (const origin of ["https://evil.example", "null", `http://localhost:${port}`]) {
      expect((await post(url, coinbase, { Origin: origin })).status).toBe(403);
      const preflight = await fetch(url, { method: "OPTIONS", headers: { Origin: origin } });
      expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([403, null]);
    }
    const attempt = (options: { origin?: string; headers?: Record<string, string> }) =>
      new Promise<string>((resolve) => {
        const socket = new WebSocket(url.replace("http", "ws"), options);
        socket.on("error", (error) => resolve(error.message));
        socket.on("open", () => {
          socket.close();
          resolve("open");
        });
      });
    expect(await attempt({})).toBe("open");
    expect(await attempt({ origin: "https://evil.example" })).toContain("403");
    expect(await attempt({ headers: { Host: `evil.example:${port}` } })).toContain("403");
    const hosts = ["evil.example", `evil.example:${port}`, "localhost.evil.example", "localhost@evil.example", ""];
    for (const host of hosts) {
      const request = `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: ${coinbase.length}\r\n\r\n${coinbase}`;
      const response = await sendRaw(url, [Buffer.from(request)], { expected: 1, quietMs: 10 });
      expect([host, response.slice(0, 12)]).toEqual([host, host === "" ? response.slice(0, 12) : "HTTP/1.1 403"]);
      expect(response).not.toContain("0x0");
    }
  });

  it("two Host headers are rejected, and the host of an absolute-form target overrides the header", async () => {
    const url = gateway.urls["internal"]!;
    const { host } = new URL(url);
    const send = (...head: string[]) => {
      const lines = [...head, "Content-Type: application/json", `Content-Length: ${coinbase.length}`, "", coinbase];
      return sendRaw(url, [Buffer.from(lines.join("\r\n"))], { expected: 1, quietMs: 10 });
    };
    const twice = await send("POST / HTTP/1.1", `Host: ${host}`, "Host: evil.example");
    expect(twice).toMatch(/^HTTP\/1\.1 400 [^]*more than one Host header; send one\n$/);
    expect(await send(`POST http://${host}/ HTTP/1.1`, "Host: evil.example")).toContain('"result":"0x0"');
    expect(await send("POST http://evil.example/ HTTP/1.1", `Host: ${host}`)).toMatch(/^HTTP\/1\.1 403 /);
  });

  it.each([
    [
      "Java's HttpClient",
      "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABk",
    ],
    ["curl --http2", "Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\nUpgrade: h2c"],
    ["a TLS upgrade", "Connection: Upgrade\r\nUpgrade: TLS/1.2"],
  ])("an upgrade offer other than WebSocket is ignored, and the call served: %s", async (_, headers) => {
    const head = ["POST / HTTP/1.1", "Host: a", "Content-Type: application/json", headers];
    const request = Buffer.from(`${[...head, `Content-Length: ${coinbase.length}`].join("\r\n")}\r\n\r\n${coinbase}`);
    const responses = await sendRaw(gateway.url, [request, request], { expected: 2, quietMs: 10 });
    expect(responses.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
    expect(responses.match(/"result":"0x0"/g)).toHaveLength(2);
  });

  it("a compressed WebSocket message is rejected before it is read, even if the client offers compression", async () => {
    const { socket, received } = openRaw(
      gateway.url,
      `GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${Buffer.alloc(16).toString("base64")}\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n`,
    );
    const closed = new Promise((resolve) => socket.on("close", resolve));
    await until("the upgrade has a response", generousMs, () => received().includes("\r\n\r\n"));
    const head = received();
    expect(head).toContain("101 Switching Protocols");
    expect(head.toLowerCase()).not.toContain("permessage-deflate");
    // A final text frame with the bit of a compressed message (RFC 7692), masked with zeros.
    socket.write(Buffer.from([0xc1, 0x84, 0, 0, 0, 0, 1, 2, 3, 4]));
    await until("the close frame has arrived", generousMs, () => received().includes("\u0003\u00ea"));
    socket.end();
    await closed;
  });

  it("colliding or prototype-polluting keys have no effect and cost only their bytes, in params too", async () => {
    node.respondAs(() => []);
    const poison = '"__proto__":{"polluted":1,"toBlock":"0xffffff"},"constructor":{"prototype":{"polluted":1}}';
    const ask = (keys: string) =>
      post(gateway.url, `{"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{${keys},${poison}}]}`);
    expect((await ask(colliding(100_000))).text).toContain("request too large: one call may have 524288 bytes");
    expect((await ask(colliding(5_000))).text).toContain("expected one log filter object, of at most 64 fields");
    const floodedResponse = await ask(colliding(50));
    expect(floodedResponse.text).toBe('{"jsonrpc":"2.0","id":1,"result":[]}');
    expect(node.requests.at(-1)?.params).toEqual([{ fromBlock: "latest", toBlock: "latest" }]);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    for (const method of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
      expect((await call(gateway.url, method)).error?.code).toBe(-32601);
    }
  });
});
