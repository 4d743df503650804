import { pino } from "pino";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { startStandIn } from "#devnet/pushgateway/stand-in.ts";
import { driftedConfig, startFakeNode } from "#sidecar/testing/fake-node.ts";
import { runUpkeep } from "#sidecar/testing/run-upkeep.ts";

const listen = { host: "127.0.0.1", port: 0, requestTimeoutMs: 5_000, bodyLimitBytes: 1_000_000 };

/** A node that pushes under a job each second until it is disposed of. */
function pushing(url: string, job: string): Disposable {
  const push = () =>
    void fetch(`${url}/metrics/job/${job}`, { method: "PUT", body: "height 1\n" }).then((answer) => answer.text());
  const timer = setInterval(push, 1_000);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

test("two nodes that push under one job are noticed at the Pushgateway, and the job is named", async () => {
  const log = pino({ level: "silent" });
  await using gateway = await startStandIn(
    { listen, limits: { groups: 10, samples: 1_000 } },
    { log, metrics: new Registry() },
  );
  await using node = await startFakeNode(driftedConfig.replace('push_interval": 5', 'push_interval": 1'));
  await using upkeep = await runUpkeep(node, {
    GATEHOUSE_SIDECAR_PUSHGATEWAY_URL: gateway.url,
    GATEHOUSE_SIDECAR_RESTART_DRIVER: "none",
  });
  using own = pushing(gateway.url, "node-7");
  const fresh = await upkeep.reason("MetricsArriving", "Fresh", 20_000);
  expect(fresh.message).toMatch(/^Job "node-7" was pushed \d s ago\.$/);
  using other = pushing(gateway.url, "node-7");
  const shared = await upkeep.reason("MetricsArriving", "JobShared", 30_000);
  expect(shared.message).toBe(
    'More than one node pushes job "node-7", and they overwrite each other; give each its own monitor.jobName.',
  );
  other[Symbol.dispose]();
  await upkeep.reason("MetricsArriving", "Fresh", 30_000);
  own[Symbol.dispose]();
});
