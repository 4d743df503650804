import { once } from "node:events";
import { createServer, get } from "node:http";
import type { AddressInfo } from "node:net";
import { createFakeNode } from "#sidecar/testing/fake-node.ts";
import { quantile, type Measurement } from "../measurement.ts";
import { startSidecar } from "./sidecar-under-test.ts";

const rounds = 1_000;
const targetMs = 50;
const paths = ["/livez", "/readyz", "/startupz"];

export async function measureProbes(): Promise<readonly Measurement[]> {
  await using files = await createFakeNode();
  const hanging = createServer(() => undefined);
  hanging.listen(0, "127.0.0.1");
  await once(hanging, "listening");
  const httpUrl = `http://127.0.0.1:${(hanging.address() as AddressInfo).port}`;
  try {
    await using sidecar = await startSidecar(
      { workspace: files.workspace, httpUrl },
      { GATEHOUSE_SIDECAR_RESTART_DRIVER: "none" },
    );
    await sidecar.reason("RpcResponding", "TimedOut", 60_000);
    const times: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      for (const path of paths) times.push(await measureAnswerMs(`${sidecar.url}${path}`));
    }
    const p99Ms = quantile(times, 0.99);
    const slowestMs = Math.max(...times);
    return [
      {
        what: "Probes while the node hangs",
        target: `< ${targetMs} ms`,
        measured: `p50 ${quantile(times, 0.5).toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, slowest ${slowestMs.toFixed(0)} ms`,
        isMet: p99Ms < targetMs,
        how: `${rounds} times ${paths.join(", ")} of a real sidecar, each over its own connection; the verdict is that of the p99`,
      },
    ];
  } finally {
    hanging.closeAllConnections();
    hanging.close();
  }
}

async function measureAnswerMs(url: string): Promise<number> {
  const began = performance.now();
  await new Promise<void>((resolve, reject) => {
    get(url, { agent: false }, (answer) => answer.resume().on("end", resolve)).on("error", reject);
  });
  return performance.now() - began;
}
