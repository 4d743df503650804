import { expect, test } from "vitest";
import { unknownHealth, type NodeInfo, type RpcState } from "#health/rpc-state.ts";
import { makeContext } from "../../testing/upkeep-context.ts";
import { checkData } from "./watch-data.ts";

const well: NodeInfo = { rpc: { sinceMs: 0, fault: undefined }, chain: "expected", height: "advancing" };

/** `then`: the node's response when its process is not seen. */
async function lookWithoutProcess(then: RpcState) {
  const context = makeContext({
    health: { current: () => ({ ...unknownHealth, height: 9 }), facts: () => well, check: async () => then },
    rpc: { findBlock: async () => ({ kind: "found", hash: "0x5" }), isSyncing: async () => false },
    references: [],
    holders: { now: async () => [] },
  });
  return checkData({ failedStarts: [] }, context);
}

test("does not report a node that exited during the check as healthy, and keeps what is known of its process", async () => {
  const { check } = await lookWithoutProcess({
    ...unknownHealth,
    failure: { reason: "ConnectionRefused", message: "Rejected." },
  });
  expect(check).toMatchObject({ isAnswering: false, isHealthy: false, height: undefined });
});

test("reports a responding node as healthy even if the sidecar can't see its process", async () => {
  const { check, process } = await lookWithoutProcess({ ...unknownHealth, height: 9 });
  expect([check.isHealthy, process]).toEqual([true, undefined]);
});
