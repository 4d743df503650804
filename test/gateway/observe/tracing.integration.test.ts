import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startFakeNode, type FakeNode } from "#gateway/testing/fake-node.ts";
import { connectTestClient } from "#gateway/testing/test-client.ts";
import { call, post, startTestGateway } from "#gateway/testing/test-gateway.ts";
import { startCollector, type SentSpan } from "../../support/gateway/trace-collector.ts";

const server = 2;
const client = 3;
const internal = 1;
const traceId = "0af7651916cd43dd8448eb211c80319c";
const asked = { traceparent: `00-${traceId}-b7ad6b7169203331-01`, tracestate: "rojo=00f067aa0ba902b7,congo=t61" };

function attributesOf({ attributes }: SentSpan): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

describe("traces", () => {
  let node: FakeNode;
  const traceparents: (string | undefined)[] = [];
  const tracestates: (string | undefined)[] = [];
  beforeAll(async () => {
    node = await startFakeNode();
    node.respondAs(({ method }, response) => {
      traceparents.push(response.req.headers["traceparent"] as string | undefined);
      tracestates.push(response.req.headers["tracestate"] as string | undefined);
      return method;
    });
  });
  afterAll(() => node[Symbol.asyncDispose]());

  it("continue from the client to the node, and match the metrics of a call", async () => {
    await using collector = await startCollector();
    traceparents.length = 0;
    tracestates.length = 0;
    const tracing = { otlpUrl: collector.url, authorization: "Bearer collector-key" };
    const gateway = await startTestGateway(node, { internal: { enabled: true }, tracing });
    const url = gateway.urls["internal"]!;
    const body = '{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":["0xsecret","latest"]}';
    await post(url, body, { ...asked, "X-Request-Id": "r1" });
    await post(url, body, asked);
    await post(url, body.replace("eth_getBalance", "eth_secretName"), asked);
    await gateway[Symbol.asyncDispose]();
    const spans = collector.spans();
    const [first, second, third] = spans.filter(({ kind }) => kind === server);
    const toNode = spans.find(({ kind }) => kind === client);
    expect([first!.name, first!.traceId, first!.parentSpanId]).toEqual(["eth_getBalance", traceId, "b7ad6b7169203331"]);
    expect(attributesOf(first!)).toEqual({
      "rpc.system": "jsonrpc",
      "rpc.jsonrpc.version": "2.0",
      "rpc.method": "eth_getBalance",
      "gatehouse.listener": "internal",
      "gatehouse.tier": "internal",
      "gatehouse.outcome": "node",
      "gatehouse.cache": "miss",
      "gatehouse.request_id": "r1",
    });
    expect(toNode).toMatchObject({ name: "node eth_getBalance", traceId, parentSpanId: first!.spanId });
    expect(traceparents).toEqual([`00-${traceId}-${toNode!.spanId}-01`]);
    expect(tracestates).toEqual([asked.tracestate]);
    expect(attributesOf(second!)).toMatchObject({ "gatehouse.outcome": "cache", "gatehouse.cache": "hit" });
    expect(attributesOf(third!)).toMatchObject({ "rpc.method": "unknown", "gatehouse.outcome": "rejected" });
    expect(spans).toHaveLength(4);
    expect(collector.texts.join("")).not.toContain("secret");
    expect(new Set(collector.authorizations)).toEqual(new Set(["Bearer collector-key"]));
  });

  it.each([
    ["HTTP", async (url: string, body: string) => (await post(url, body)).text],
    [
      "WebSocket",
      async (url: string, body: string) => {
        await using socket = await connectTestClient(url);
        return await socket.ask(body);
      },
    ],
  ])("keep a batch together over %s", async (_, send) => {
    await using collector = await startCollector();
    const tracing = { otlpUrl: collector.url, sampleRatio: 1 };
    const gateway = await startTestGateway(node, { tracing });
    const one = '{"jsonrpc":"2.0","id":1,"method":"eth_coinbase"}';
    const response = await send(gateway.url, `[${one},${one},7]`);
    expect((JSON.parse(response) as unknown[]).length).toBe(3);
    await gateway[Symbol.asyncDispose]();
    const batch = collector.spans().find(({ name }) => name === "batch");
    const insideSpans = collector.spans().filter(({ parentSpanId }) => parentSpanId === batch?.spanId);
    expect(batch?.kind).toBe(server);
    expect(attributesOf(batch!)["gatehouse.batch_items"]).toBe(3);
    expect(insideSpans.map(({ kind, name }) => [kind, name])).toEqual([
      [internal, "eth_coinbase"],
      [internal, "eth_coinbase"],
      [internal, "unknown"],
    ]);
  });

  it("are not started at the request of an anonymous caller", async () => {
    await using collector = await startCollector();
    const tracing = { otlpUrl: collector.url, sampleRatio: 0 };
    const gateway = await startTestGateway(node, { tracing, internal: { enabled: true } });
    const body = '{"jsonrpc":"2.0","id":1,"method":"eth_coinbase"}';
    for (const url of [gateway.url, gateway.urls["internal"]!]) await post(url, body, asked);
    await gateway[Symbol.asyncDispose]();
    expect(collector.spans().map((span) => attributesOf(span)["gatehouse.listener"])).toEqual(["internal"]);
  });

  it("never delay calls if the collector is unavailable", async () => {
    const tracing = { otlpUrl: "http://127.0.0.1:9/v1/traces", sampleRatio: 1, queuedSpans: 10, timeoutMs: 500 };
    const gateway = await startTestGateway(node, { tracing });
    for (let round = 0; round < 50; round += 1) {
      expect(await call(gateway.url, "eth_coinbase")).toMatchObject({ result: "0x0" });
    }
    await gateway[Symbol.asyncDispose]();
  });

  it("continue from a WebSocket upgrade in every call on it", async () => {
    await using collector = await startCollector();
    traceparents.length = 0;
    const tracing = { otlpUrl: collector.url, sampleRatio: 1 };
    const gateway = await startTestGateway(node, { tracing });
    await using tracedClient = await connectTestClient(gateway.url, asked);
    for (let calls = 0; calls < 2; calls += 1)
      await tracedClient.ask('{"jsonrpc":"2.0","id":1,"method":"eth_syncing"}');
    await gateway[Symbol.asyncDispose]();
    const calls = collector.spans().filter(({ kind }) => kind === server);
    expect(calls.map(({ name, traceId: own }) => [name, own])).toEqual([
      ["eth_syncing", traceId],
      ["eth_syncing", traceId],
    ]);
    expect(calls.map(({ parentSpanId }) => parentSpanId)).toEqual(["b7ad6b7169203331", "b7ad6b7169203331"]);
    expect(traceparents.map((given) => given?.split("-")[1])).toEqual([traceId, traceId]);
  });

  it("forward a client's context unchanged, and do not load the SDK, while disabled", async () => {
    traceparents.length = 0;
    tracestates.length = 0;
    await using gateway = await startTestGateway(node);
    const body = '{"jsonrpc":"2.0","id":1,"method":"eth_syncing"}';
    await post(gateway.url, body, asked);
    await post(gateway.url, body, { traceparent: "00-nonsense\u{7f}-01" }).catch(() => undefined);
    await post(gateway.url, body, { traceparent: `00-${"0".repeat(32)}-b7ad6b7169203331-01` });
    await post(gateway.url, body);
    await post(gateway.url, body, { traceparent: asked.traceparent, tracestate: "NOT=valid" });
    await post(gateway.url, body, { tracestate: "a=1" });
    // Sends the same without the fast path, and over WebSocket.
    await post(gateway.url, body, { ...asked, "X-Other": "1" });
    await using tracedClient = await connectTestClient(gateway.url, asked);
    await tracedClient.ask(body);
    const reportedTraceparents = traceparents.map((parent, at) => [parent, tracestates[at]]);
    expect(reportedTraceparents.filter(([parent, state]) => parent !== undefined || state !== undefined)).toEqual([
      [asked.traceparent, asked.tracestate],
      [asked.traceparent, undefined],
      [asked.traceparent, asked.tracestate],
      [asked.traceparent, asked.tracestate],
    ]);
    const script = `
      import { registerHooks } from "node:module";
      const names = [];
      registerHooks({ resolve: (name, context, next) => { names.push(name); return next(name, context); } });
      const { startTestGateway } = await import("#gateway/testing/test-gateway.ts");
      const gateway = await startTestGateway({ httpUrl: ${JSON.stringify(node.httpUrl)}, webSocketUrl: ${JSON.stringify(node.webSocketUrl)} });
      await gateway[Symbol.asyncDispose]();
      console.log(JSON.stringify({ all: names.length, telemetry: names.filter((name) => /opentelemetry.(?!api)/.test(name)) }));
      // Not when the last idle connection of it is gone.
      process.exit();`;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
    const { all, telemetry } = JSON.parse(stdout) as { all: number; telemetry: string[] };
    expect(all).toBeGreaterThan(100);
    expect(telemetry).toEqual([]);
  });
});
