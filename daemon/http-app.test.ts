import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { createApp } from "./http-app.ts";
import { createLog } from "./log.ts";
import { operationsRoutes } from "./operations-routes.ts";
import { readinessOf } from "./readiness.ts";

function testApp(nodeAnswers = true) {
  const metrics = new Registry();
  const app = createApp({ bodyLimitBytes: 16 }, { log: createLog({ service: "test", level: "silent" }), metrics });
  const readiness = () =>
    readinessOf({ node: { ok: nodeAnswers, message: nodeAnswers ? "answers" : "no answer for 5 s" } });
  operationsRoutes(app, { metrics, readiness });
  app.post("/echo", async (c) => c.text(await c.req.text()));
  app.get("/broken", () => {
    throw new Error("a private detail");
  });
  return app;
}

describe("createApp", () => {
  it("answers a body over the limit with 413 and a JSON error", async () => {
    const response = await testApp().request("/echo", { method: "POST", body: "x".repeat(17) });
    expect([response.status, await response.json()]).toEqual([413, { error: "body larger than 16 bytes; send less" }]);
  });

  it("answers an unknown route with a JSON 404", async () => {
    const response = await testApp().request("/nothing");
    expect([response.status, await response.json()]).toEqual([404, { error: "no such route: GET /nothing" }]);
  });

  it("hides what went wrong inside, and gives the request's id", async () => {
    const response = await testApp().request("/broken", { headers: { "X-Request-Id": "r-1" } });
    expect([response.status, await response.json()]).toEqual([500, { error: "internal error", requestId: "r-1" }]);
    expect(response.headers.get("X-Request-Id")).toBe("r-1");
  });
});

describe("operationsRoutes", () => {
  it("answers /readyz with 503 and the reason while a check fails", async () => {
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
