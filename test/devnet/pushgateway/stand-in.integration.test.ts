import { Registry } from "prom-client";
import { describe, expect, onTestFinished, test } from "vitest";
import { createLog } from "#daemon/log/log.ts";
import { startStandIn } from "#devnet/pushgateway/stand-in.ts";

async function startGateway(limits = { groups: 10, samples: 100 }) {
  const listen = { host: "127.0.0.1", port: 0, requestTimeoutMs: 1_000, bodyLimitBytes: 10_000 };
  const log = createLog({ service: "test", level: "silent" });
  const gateway = await startStandIn({ listen, limits }, { log, metrics: new Registry() });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  return {
    call: async (method: string, path: string, body?: string) => {
      const response = await fetch(gateway.url + path, { method, body: body ?? null });
      return { status: response.status, text: await response.text() };
    },
    /** Reads /metrics, without this process's own metrics and with T for every time. */
    metrics: async () => {
      const text = await (await fetch(`${gateway.url}/metrics`)).text();
      return text
        .split("\n")
        .filter((line) => line !== "" && !line.startsWith("#") && !line.startsWith("gatehouse_"))
        .map((line) => line.replace(/^(push_\w+\{.*\}) [1-9].*$/, "$1 T"));
    },
  };
}

describe("the stand-in keeps the Pushgateway's semantics", () => {
  test("PUT replaces the group, POST replaces metrics of the same names", async () => {
    const { call, metrics } = await startGateway();
    await call("PUT", "/metrics/job/j1", '# TYPE a gauge\na 1\nb{x="y"} 2\n');
    await call("POST", "/metrics/job/j1", "# TYPE a gauge\na 5\n");
    expect(await metrics()).toEqual([
      'a{instance="",job="j1"} 5',
      'b{instance="",job="j1",x="y"} 2',
      'push_failure_time_seconds{instance="",job="j1"} 0',
      'push_time_seconds{instance="",job="j1"} T',
    ]);
    expect(await call("PUT", "/metrics/job/j1", "c 5\n")).toEqual({ status: 200, text: "" });
    expect(await metrics()).toEqual([
      'c{instance="",job="j1"} 5',
      'push_failure_time_seconds{instance="",job="j1"} 0',
      'push_time_seconds{instance="",job="j1"} T',
    ]);
  });

  test("the path's labels win over the body's", async () => {
    const { call, metrics } = await startGateway();
    await call("PUT", "/metrics/job@base64/YS9i/zone/z1", 'c{job="evil",instance="i",zone="z9"} 5\n');
    expect(await metrics()).toContain('c{instance="i",job="a/b",zone="z1"} 5');
  });

  test("two pushers under one job name overwrite each other; with another label they do not", async () => {
    const { call, metrics } = await startGateway();
    await call("PUT", "/metrics/job/node", "height 1\n");
    await call("PUT", "/metrics/job/node", "height 2\n");
    await call("PUT", "/metrics/job/node/instance/b", "height 3\n");
    expect((await metrics()).filter((line) => line.startsWith("height"))).toEqual([
      'height{instance="",job="node"} 2',
      'height{instance="b",job="node"} 3',
    ]);
  });

  test("keeps types, histograms and escaped labels as they came", async () => {
    const { call } = await startGateway();
    const pushed = [
      "# HELP h with \\n",
      "# TYPE h histogram",
      'h_bucket{instance="",job="j",le="+Inf"} 2',
      'h_count{instance="",job="j"} 2',
      "# TYPE t gauge",
      't{a="q\\"}, {uo\\\\te\\n",instance="",job="j"} NaN',
      "",
    ].join("\n");
    await call("PUT", "/metrics/job/j", pushed);
    expect((await call("GET", "/metrics")).text).toContain(pushed.slice(0, pushed.indexOf("# TYPE t")));
    expect((await call("GET", "/metrics")).text).toContain(pushed.slice(pushed.indexOf("# TYPE t")));
  });

  test("DELETE answers 202 and removes exactly the group", async () => {
    const { call, metrics } = await startGateway();
    await call("PUT", "/metrics/job/node", "height 1\n");
    await call("PUT", "/metrics/job/node/instance/b", "height 3\n");
    expect(await call("DELETE", "/metrics/job/node")).toEqual({ status: 202, text: "" });
    expect(await call("DELETE", "/metrics/job/never-there")).toEqual({ status: 202, text: "" });
    expect((await metrics()).filter((line) => line.startsWith("height"))).toEqual([
      'height{instance="b",job="node"} 3',
    ]);
  });

  test("a type that does not fit is refused, and the time of the failure kept", async () => {
    const { call, metrics } = await startGateway();
    await call("PUT", "/metrics/job/j2", "# TYPE a counter\na 5\n");
    expect(await call("PUT", "/metrics/job/j3", "# TYPE a gauge\na 5\n")).toEqual({
      status: 400,
      text: "pushed metrics are invalid or inconsistent with existing metrics: metric family a has type gauge but should have counter",
    });
    expect(await metrics()).toContain('push_failure_time_seconds{instance="",job="j3"} T');
    expect(await metrics()).toContain('push_time_seconds{instance="",job="j3"} 0');
  });

  test.each([
    ["a 5 123\n", "must not have timestamps"],
    ["z 1\nz 2\n", "collected before with the same name and label values"],
    ['q{__a="1"} 7\n', "a label with an invalid name: __a"],
    ["not metrics\n", "text format parsing error in line 1"],
    ['a 1\nq{a="1",a="2"} 7\n', "text format parsing error in line 2"],
    ["q 0x10\n", "text format parsing error in line 1"],
  ])("refuses %j", async (body, reason) => {
    const { call } = await startGateway();
    const answer = await call("PUT", "/metrics/job/j", body);
    expect(answer.status).toBe(400);
    expect(answer.text).toContain(reason);
  });

  test("limits are reported, and what was kept stays", async () => {
    const { call, metrics } = await startGateway({ groups: 2, samples: 20 });
    await call("PUT", "/metrics/job/j1", "a 1\n");
    const many = Array.from({ length: 21 }, (_, index) => `m{i="${index}"} 1\n`).join("");
    expect((await call("PUT", "/metrics/job/j2", many)).text).toBe("more than 20 samples; delete a group first");
    expect((await call("PUT", "/metrics/job/j3", "a 1\n")).status).toBe(503);
    expect((await call("PUT", "/metrics/job/j1", "a".repeat(20_000))).status).toBe(413);
    expect(await metrics()).toContain('a{instance="",job="j1"} 1');
  });

  test("other methods and paths", async () => {
    const { call } = await startGateway();
    expect(await call("GET", "/-/ready")).toEqual({ status: 200, text: "OK" });
    expect(await call("GET", "/-/healthy")).toEqual({ status: 200, text: "OK" });
    expect((await call("PATCH", "/metrics/job/a")).status).toBe(405);
    expect((await call("PUT", "/metrics", "a 1\n")).status).toBe(405);
    expect((await call("PUT", "/metrics/job", "a 1\n")).status).toBe(404);
    expect((await call("PUT", "/metrics/job/", "a 1\n")).status).toBe(400);
    for (const [path, reason] of [
      ["job/a/b", "odd number of components"],
      ["job/a/b-b/c", 'improper label name "b-b"'],
      ["job/a/__b/c", 'improper label name "__b"'],
      ["job/%ff", "invalid percent encoding"],
    ] as const) {
      expect(await call("PUT", `/metrics/${path}`, "a 1\n")).toEqual({
        status: 400,
        text: expect.stringContaining(reason),
      });
    }
  });
});
