import { expect, test } from "vitest";
import { runStandIn } from "./running-stand-in.ts";

async function startGateway() {
  const { url, readMetrics } = await runStandIn(10_000);
  return {
    call: async (method: string, path: string, body?: string) => {
      const response = await fetch(url + path, { method, body: body ?? null });
      return { status: response.status, text: await response.text() };
    },
    metrics: async () =>
      (await readMetrics())
        .filter((line) => line !== "" && !line.startsWith("#") && !line.startsWith("gatehouse_"))
        .map((line) => line.replace(/^(push_\w+\{.*\}) [1-9].*$/, "$1 T")),
  };
}

test("replaces a group on PUT, replaces metrics of the same names on POST, removes one group on DELETE", async () => {
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
  await call("PUT", "/metrics/job/j1/instance/b", "c 6\n");
  const listed = async () => (await metrics()).filter((line) => line.startsWith("c"));
  expect(await listed()).toEqual(['c{instance="",job="j1"} 5', 'c{instance="b",job="j1"} 6']);
  expect(await call("DELETE", "/metrics/job/j1")).toEqual({ status: 202, text: "" });
  expect(await listed()).toEqual(['c{instance="b",job="j1"} 6']);
});

test("prefers the path's labels to the body's", async () => {
  const { call, metrics } = await startGateway();
  await call("PUT", "/metrics/job@base64/YS9i/zone/z1", 'c{job="evil",instance="i",zone="z9"} 5\n');
  expect(await metrics()).toContain('c{instance="i",job="a/b",zone="z1"} 5');
});

test("preserves types, histograms and escaped labels", async () => {
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

test("rejects an invalid push and records the time of the failure", async () => {
  const { call, metrics } = await startGateway();
  await call("PUT", "/metrics/job/j", "a 1\n");
  for (const line of ["not metrics", "q 0x10", "a 5 123"]) {
    const text = "text format parsing error in line 2";
    expect(await call("PUT", "/metrics/job/j", `a 1\n${line}\n`)).toEqual({ status: 400, text });
  }
  expect((await call("PUT", "/metrics/job/j", "a".repeat(20_000))).status).toBe(413);
  expect(await metrics()).toContain('push_failure_time_seconds{instance="",job="j"} T');
  expect(await metrics()).toContain('a{instance="",job="j"} 1');
});

test("reports health, and rejects other paths", async () => {
  const { call } = await startGateway();
  expect(await call("GET", "/-/ready")).toEqual({ status: 200, text: "OK" });
  expect(await call("GET", "/-/healthy")).toEqual({ status: 200, text: "OK" });
  expect((await call("PUT", "/metrics/job", "a 1\n")).status).toBe(404);
  for (const path of ["job/", "job/a/b", "job/a/b-b/c"]) {
    expect((await call("PUT", `/metrics/${path}`, "a 1\n")).status, path).toBe(400);
  }
});
