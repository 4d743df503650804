import { readFile, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { until } from "#daemon/testing/until.ts";
import { startDevnetWorkspace } from "../../support/node/devnet-workspace.ts";
import { quantile, type Measurement } from "../measurement.ts";
import { startSidecar } from "./sidecar-under-test.ts";

const restarts = 15;
const pauseMs = 1_000;
const targetMs = 2_000;
const deadlineMs = 30_000;

export async function measureRestart(): Promise<readonly Measurement[]> {
  await using node = await startDevnetWorkspace("0.16.2");
  await using sidecar = await startSidecar(node, {
    GATEHOUSE_SIDECAR_MONITOR_PUSH_ADDRESS: "127.0.0.1",
    GATEHOUSE_SIDECAR_RESTART_BUDGET_PER_HOUR: "3600",
  });
  const back = async () => {
    const { events } = await sidecar.status();
    return events.find(({ message }) => message.startsWith("The node recovered"))?.at;
  };
  await until("the node is right", deadlineMs, back);
  await sidecar.reason("Pruning", "Enabled", deadlineMs);
  const times: number[] = [];
  for (let index = 0; index < restarts; index += 1) {
    await sidecar.reason("NoRestartPending", "NoRestart", deadlineMs);
    await sleep(pauseMs);
    const before = await back();
    const text = await readFile(node.configPath, "utf8");
    const began = Date.now();
    await writeFile(
      node.configPath,
      text.replace('"storage_cetina_push_address": "127.0.0.1"', `"storage_cetina_push_address": "10.0.0.${index}"`),
    );
    const at = await until("the node is back", deadlineMs, async () => {
      const now = await back();
      return now === before ? undefined : now;
    });
    times.push(Date.parse(at) - began);
  }
  const medianMs = quantile(times, 0.5);
  return [
    {
      what: "Drift, until it is corrected, the node restarted and healthy",
      target: `< ${targetMs} ms (median)`,
      measured: `median ${medianMs} ms, slowest ${Math.max(...times)} ms`,
      isMet: medianMs < targetMs,
      how: `${restarts} drifts of a devnet node (a block each 0.5 s), restarted by its ops, until a real sidecar saw its height advance; settings by default`,
    },
  ];
}
