import { Registry } from "prom-client";
import { onTestFinished } from "vitest";
import { createLog } from "#daemon/log/log.ts";
import { startInMemoryPushgateway } from "#devnet/pushgateway/in-memory-pushgateway.ts";

/** Starts a stand-in for the Pushgateway until the test has finished. */
export async function runStandIn(bodyLimitBytes = 1_000_000) {
  const listen = { host: "127.0.0.1", port: 0, requestTimeoutMs: 1_000, bodyLimitBytes };
  const log = createLog({ service: "test", level: "silent" });
  const gateway = await startInMemoryPushgateway({ listen }, { log, metrics: new Registry() });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  const readMetrics = async () => (await (await fetch(`${gateway.url}/metrics`)).text()).split("\n");
  return { ...gateway, readMetrics };
}
