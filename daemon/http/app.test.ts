import { gunzipSync } from "node:zlib";
import { connect } from "node:net";
import { PassThrough } from "node:stream";
import { pino } from "pino";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { createApp } from "./app.ts";
import { listenHttp } from "./listener.ts";
import { createLog } from "../log/log.ts";
import { createMask } from "../secrets/mask.ts";
import { evaluateReadiness } from "./readiness.ts";
import { addOperationsRoutes } from "./operations-listener.ts";
import { generousMs, until } from "../testing/until.ts";

function testApp(nodeAnswers = true) {
  const metrics = new Registry();
  const app = createApp({ bodyLimitBytes: 16 }, { log: createLog({ service: "test", level: "silent" }), metrics });
  const readiness = () =>
    evaluateReadiness({ node: { ok: nodeAnswers, message: nodeAnswers ? "answers" : "no answer for 5 s" } });
  addOperationsRoutes(app, { metrics, readiness });
  app.post("/echo", async (c) => c.text(await c.req.text()));
  app.get("/broken", () => {
    throw new Error("a private detail");
  });
  return app;
}

describe("createApp", () => {
  it("rejects a body over the limit with 413 and a JSON error", async () => {
    const response = await testApp().request("/echo", { method: "POST", body: "x".repeat(17) });
    expect([response.status, await response.json()]).toEqual([413, { error: "the body exceeds 16 bytes; send less" }]);
  });

  it("buffers a chunked body up to the limit on every route", async () => {
    let read = 0;
    const chunks = (bytes: number) =>
      new ReadableStream<Uint8Array>({
        pull: (controller) =>
          read < bytes ? controller.enqueue(new Uint8Array(4).fill((read += 4))) : controller.close(),
      });
    const app = testApp();
    for (const path of ["/echo", "/nothing"]) {
      read = 0;
      const response = await app.request(path, { method: "POST", body: chunks(1_000), duplex: "half" });
      expect(response.status).toBe(413);
      expect(read).toBeLessThan(32);
    }
    read = 0;
    expect((await app.request("/echo", { method: "POST", body: chunks(16), duplex: "half" })).status).toBe(200);
  });

  it("responds to an unknown route with a JSON 404", async () => {
    const response = await testApp().request("/nothing");
    expect([response.status, await response.json()]).toEqual([404, { error: "no such route: GET /nothing" }]);
  });

  it.each([
    ["POST", "/livez", "GET, HEAD"],
    ["OPTIONS", "/metrics", "GET, HEAD"],
    ["GET", "/echo", "POST"],
    ["DELETE", "/echo", "POST"],
  ])("responds to %s %s with 405 and the allowed methods", async (method, path, allowed) => {
    const response = await testApp().request(path, { method });
    const seen = [response.status, response.headers.get("Allow"), await response.json()];
    expect(seen).toEqual([405, allowed, { error: `this path supports ${allowed}` }]);
  });

  it("hides internal errors, and returns the request id", async () => {
    const response = await testApp().request("/broken", { headers: { "X-Request-Id": "r-1" } });
    expect([response.status, await response.json()]).toEqual([500, { error: "internal error", requestId: "r-1" }]);
    expect(response.headers.get("X-Request-Id")).toBe("r-1");
  });
});

it("does not count a client that disconnects mid-request as a service error", async () => {
  const lines: string[] = [];
  const metrics = new Registry();
  const log = pino(new PassThrough().on("data", (line: Buffer) => lines.push(line.toString())));
  const app = createApp({ bodyLimitBytes: 1_024 }, { log, metrics });
  const reading = Promise.withResolvers<void>();
  app.post("/echo", (c) => {
    reading.resolve();
    return c.req.text().then((body) => c.text(body));
  });
  await using listener = await listenHttp(app, {
    host: "127.0.0.1",
    port: 0,
    setting: "PORT",
    requestTimeoutMs: 5_000,
  });
  const socket = connect(listener.port, "127.0.0.1");
  socket.write("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n12");
  await reading.promise;
  socket.destroy();
  const rejectionSample = 'method="POST",route="/echo",status="400"} 1';
  await until("the request is counted", generousMs, async () => (await metrics.metrics()).includes(rejectionSample));
  expect(lines).toEqual([]);
});

describe("operationsRoutes", () => {
  it("responds to /readyz with 503 and the reason while a check fails", async () => {
    const response = await testApp(false).request("/readyz");
    expect([response.status, await response.json()]).toEqual([
      503,
      { status: "unready", checks: { node: { ok: false, message: "no answer for 5 s" } } },
    ]);
    expect((await testApp().request("/readyz")).status).toBe(200);
  });

  it("counts requests by route pattern in /metrics", async () => {
    const app = testApp();
    await app.request("/livez");
    await app.request("/some/odd/path");
    const text = await (await app.request("/metrics")).text();
    expect(text).toContain('gatehouse_http_request_duration_seconds_count{method="GET",route="/livez",status="200"} 1');
    expect(text).not.toContain("/some/odd/path");
  });
});

it("masks secrets in any text, and leaves the rest of a response unchanged", async () => {
  const mask = createMask();
  mask.hide("http://operator:a-long-password@node.example/");
  const app = createApp({ bodyLimitBytes: 1_024 }, { log: createLog({ service: "test", level: "silent" }), mask });
  const text = "the node said: a-long-password";
  app.get("/json", (c) => c.json({ text }, 503, { "X-Own": "1" }));
  app.get("/metrics", (c) =>
    c.body(`# ${text}\n`, 200, { "Content-Type": "text/plain; version=0.0.4", "Content-Length": "33" }),
  );
  app.get("/bytes", (c) => c.body(text, 200, { "Content-Type": "application/octet-stream" }));
  const json = await app.request("/json");
  expect([json.status, json.headers.get("X-Own")]).toEqual([503, "1"]);
  expect(await json.json()).toEqual({ text: "the node said: [masked]" });
  const metrics = await app.request("/metrics");
  expect(metrics.headers.get("Content-Length")).toBeNull();
  expect(await metrics.text()).toBe("# the node said: [masked]\n");
  expect(await (await app.request("/bytes")).text()).toBe(text);
});

it("compresses the responses of one path for clients that accept gzip, after masking", async () => {
  const mask = createMask();
  mask.hide("http://operator:a-long-password@node.example/");
  const log = createLog({ service: "test", level: "silent" });
  const app = createApp({ compressed: "/metrics" }, { log, mask });
  const text = `a-long-password ${"x 1\n".repeat(20_000)}`;
  app.get("/metrics", (c) => c.text(text));
  app.get("/other", (c) => c.text(text));
  const ask = (accepted: string, path = "/metrics") => app.request(path, { headers: { "Accept-Encoding": accepted } });
  const compressedResponse = await ask("deflate, gzip;q=0.8");
  const bytes = Buffer.from(await compressedResponse.arrayBuffer());
  expect(gunzipSync(bytes).toString()).toBe(text.replace("a-long-password", "[masked]"));
  expect(bytes.length).toBeLessThan(text.length / 10);
  expect(compressedResponse.headers.get("Vary")).toBe("Accept-Encoding");
  for (const encoding of ["gzip;q=0", "identity", "br"])
    expect((await ask(encoding)).headers.get("Content-Encoding")).toBeNull();
  expect((await ask("gzip", "/other")).headers.get("Content-Encoding")).toBeNull();
});
