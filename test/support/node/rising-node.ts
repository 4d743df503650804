import { startFakeNode, type FakeNode } from "#gateway/testing/fake-node.ts";
import { goodResponses, risingHeight } from "#sidecar/testing/watched-node.ts";

/** Starts a node's RPC that passes health checks, with a height that rises at each check. */
export async function startRisingNode(): Promise<FakeNode> {
  const node = await startFakeNode();
  const responses: Readonly<Record<string, () => unknown>> = { ...goodResponses, eth_blockNumber: risingHeight };
  node.respondAs(({ method }) => responses[method]?.() ?? null);
  return node;
}
