import { z } from "zod";
import { until } from "#daemon/testing/until.ts";

const statusShape = z.object({
  node: z.object({ answers: z.boolean() }),
  conditions: z.array(z.object({ type: z.string(), status: z.string() })),
});

const wanted = ["RpcResponding", "ConfigReconciled", "NoRestartPending", "VersionConsistent", "HeightAdvancing"];

/** Waits until the sidecar at a host port reports that its node is ready for an upgrade. */
export async function waitUntilStackSettles(statusPort: string | number): Promise<void> {
  await until("the stack is ready", 120_000, async () => {
    const response = await fetch(`http://127.0.0.1:${statusPort}/status`, { signal: AbortSignal.timeout(10_000) });
    const { node, conditions } = statusShape.parse(await response.json());
    return node.answers && wanted.every((type) => conditions.find((each) => each.type === type)?.status === "True");
  });
}
