import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { Counter, Gauge, Histogram, Registry, Summary } from "prom-client";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { isOnPath, startRealPushgateway } from "#devnet/pushgateway/real-pushgateway.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { createTestNode } from "#devnet/testing/test-node.ts";
import { nodeProfile } from "#devnet/node-profile.ts";
import { choosePushFormat } from "#devnet/monitor/metrics-pusher.ts";
import { generousMs } from "#daemon/testing/until.ts";

const program = "prometheus-pushgateway";
const entryExists = await isOnPath(program);
const skipped = entryExists ? "" : ` (skipped: ${program} is not on PATH)`;

async function startGateway() {
  const [port = 0] = await findFreePorts(1);
  const gateway = await startRealPushgateway({ program, host: "127.0.0.1", port, persistenceFile: undefined });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  const samplesOf = async (job: string) => {
    const text = await (await fetch(`${gateway.url}/metrics`)).text();
    return text.split("\n").flatMap((line) => {
      if (!line.includes(`job="${job}"`) || line.startsWith("push_")) return [];
      return [line.replace(`job="${job}"`, "")];
    });
  };
  return { url: gateway.url, port, samplesOf };
}

/** One metric of each type, some with labels. */
function exampleMetrics(): Registry {
  const metrics = new Registry();
  const registers = [metrics];
  new Gauge({ name: "peers", help: "Connected\npeers.", registers }).set(-0.5);
  const blocks = new Counter({ name: "blocks_total", help: "Blocks.", labelNames: ["kind"], registers });
  blocks.inc({ kind: 'so "called"' }, 3);
  blocks.inc({ kind: "empty" }, 2 ** 53);
  const latency = new Histogram({
    name: "latency_seconds",
    help: "Latency.",
    labelNames: ["way"],
    buckets: [0.1, 2],
    registers,
  });
  for (const seconds of [0.05, 1, 3]) latency.observe({ way: "in" }, seconds);
  latency.observe({ way: "out" }, 0.01);
  const sizes = new Summary({ name: "size_bytes", help: "Sizes.", percentiles: [0.5, 0.9], registers });
  for (const bytes of [10, 20, 30]) sizes.observe(bytes);
  return metrics;
}

describe.skipIf(!entryExists)(`pushed to Prometheus's own Pushgateway${skipped}`, () => {
  test("compressed protobuf says the same as text", async () => {
    const gateway = await startGateway();
    const metrics = exampleMetrics();
    for (const profile of nodeProfile.options) {
      const { headers, body } = await (await choosePushFormat(profile))(metrics);
      const answer = await fetch(`${gateway.url}/metrics/job/${profile}`, { method: "PUT", headers, body });
      expect([await answer.text(), answer.status]).toEqual(["", 200]);
    }
    const strict = await gateway.samplesOf("strict");
    expect(strict).toEqual(await gateway.samplesOf("standard"));
    expect(strict).toContain('latency_seconds_bucket{instance="",,way="in",le="+Inf"} 3');
    expect(strict).toHaveLength(17);
  });

  test("a strict node pushes its metrics as protobuf, compressed", async () => {
    const gateway = await startGateway();
    await using recorder = await startRecorder(gateway.url);
    const monitor = { jobName: "node-7", pushAddress: "127.0.0.1", pushPort: recorder.port, pushIntervalSeconds: 1 };
    await using node = await createTestNode({ version: "0.16.2", profile: "strict", monitor });
    await node.run("ops", "start", "--config", "./node.conf");
    const height = expect.stringMatching(/^gatehouse_devnet_block_height\{instance="",\} [1-9]/);
    await vi.waitFor(async () => expect(await gateway.samplesOf("node-7")).toContainEqual(height), {
      timeout: generousMs,
      interval: 100,
    });
    expect(recorder.pushed[0]).toMatchObject({
      "content-type": "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited",
      "content-encoding": "gzip",
    });
  });
});

/** Forwards pushes with their headers. */
async function startRecorder(url: string) {
  const pushed: IncomingHttpHeaders[] = [];
  const server = createServer(async (request, response) => {
    pushed.push(request.headers);
    const { "content-type": type = "", "content-encoding": encoding = "" } = request.headers;
    const headers = { "content-type": type, "content-encoding": encoding };
    const answer = await fetch(`${url}${request.url}`, { method: "PUT", headers, body: await buffer(request) });
    response.writeHead(answer.status).end(await answer.text());
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const close = async () => {
    server.closeAllConnections();
    await once(server.close(), "close");
  };
  return { port: (server.address() as AddressInfo).port, pushed, [Symbol.asyncDispose]: close };
}
