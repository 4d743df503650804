import { once } from "node:events";
import { Agent, request, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeSharedDirectory } from "#daemon/testing/test-directory.ts";
import { startFakeNode, type FakeNode } from "#gateway/testing/fake-node.ts";
import { limitlessTier } from "#gateway/testing/limitless-tier.ts";
import { startTestGateway, type TestGateway } from "#gateway/testing/test-gateway.ts";
import type { BenchProcess } from "../../bench/gateway/proxies.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { prepareHaproxy, prepareKeepingNginx, type StartProxy } from "../../support/real-proxy.ts";

const call = '{"jsonrpc":"2.0","id":1,"method":"eth_coinbase"}';
const json = ["Content-Type", "application/json", "Content-Length", String(call.length)];

type SentRequest = Readonly<{ method?: string; path?: string; headers: readonly string[] }>;
type Answer = Readonly<{ status: number; text: string; connection: string | undefined }>;

/** Unusual but well-formed requests that pass through a proxy unchanged, with their responses. */
const odd: readonly (readonly [what: string, status: number, asked: SentRequest])[] = [
  ["a proxy header", 200, { headers: [...json, "Proxy-Connection", "keep-alive"] }],
  ["a header twice", 200, { headers: [...json, "X-Request-ID", "a", "X-Request-ID", "b"] }],
  ["a header without a value", 200, { headers: [...json, "traceparent", ""] }],
  ["a different path", 404, { path: "/elsewhere", headers: json }],
  ["a different method", 405, { method: "PUT", headers: json }],
  ["a different media type", 415, { headers: json.with(1, "text/plain") }],
];

async function ask(url: string, { method = "POST", path = "/", headers }: SentRequest, agent?: Agent): Promise<Answer> {
  const made = request(new URL(path, url), { method, headers: [...headers, "Host", "a"], agent });
  made.end(call);
  const [response] = (await once(made, "response")) as [IncomingMessage];
  const { connection } = response.headers;
  return { status: response.statusCode ?? 0, text: await text(response), connection };
}

/** Proxies that forward all of their clients' requests over one keep-alive connection. */
const proxies: readonly (readonly [name: string, start: StartProxy])[] = [
  ["nginx", prepareKeepingNginx("proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;")],
  ["HAProxy", prepareHaproxy("mode http\n  http-reuse always\n  option forwardfor", "pool-max-conn 1")],
];

describe.each(proxies)("a connection from %s", (_, startProxy) => {
  const folder = makeSharedDirectory();
  let node: FakeNode;
  let gateway: TestGateway;
  let proxy: BenchProcess;
  beforeAll(async () => {
    node = await startFakeNode();
    gateway = await startTestGateway(node, {
      tiers: { public: limitlessTier },
      callers: { trustedProxies: ["127.0.0.1"] },
    });
    const [port = 0] = await findFreePorts(1);
    proxy = await startProxy({ folder, port, behindPort: new URL(gateway.url).port });
  });
  afterAll(async () => {
    await proxy?.[Symbol.asyncDispose]();
    await gateway?.[Symbol.asyncDispose]();
    await node?.[Symbol.asyncDispose]();
  });

  it.each(odd)("returns to the fast path after one request with %s", async (_what, status, asked) => {
    expect((await ask(proxy.url, { headers: json })).status).toBe(200);
    const slowRequestsBefore = await countSlowRequests(gateway);
    expect((await ask(proxy.url, asked)).status).toBe(status);
    for (let others = 0; others < 5; others += 1) {
      expect((await ask(proxy.url, { headers: json })).text).toContain('"result":"0x0"');
    }
    expect(await countSlowRequests(gateway)).toBe(slowRequestsBefore + 1);
  });
});

describe("a client's own connection", () => {
  it("stays open after an unusual request, whose cost is reported", async () => {
    await using node = await startFakeNode();
    await using gateway = await startTestGateway(node, { tiers: { public: limitlessTier } });
    using agent = new OwnAgent();
    const [, , asked] = odd[0] ?? [];
    for (const each of [{ headers: json }, asked ?? { headers: [] }, { headers: json }]) {
      expect((await ask(gateway.url, each, agent)).connection).toBe("keep-alive");
    }
    expect(await countSlowRequests(gateway)).toBe(2);
  });
});

/** A client with one connection. */
class OwnAgent extends Agent implements Disposable {
  constructor() {
    super({ keepAlive: true, maxSockets: 1 });
  }

  [Symbol.dispose](): void {
    this.destroy();
  }
}

/** Counts the requests that the fast path did not handle, as reported to operators. */
async function countSlowRequests({ metrics }: TestGateway): Promise<number> {
  const shown = await metrics.metrics();
  return Number(/^gatehouse_gateway_slow_path_requests_total\{listener="public"\} (\d+)$/m.exec(shown)?.[1] ?? 0);
}
