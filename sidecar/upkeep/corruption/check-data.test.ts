import { expect, test } from "vitest";
import { unknownHealth, type NodeInfo, type RpcState } from "#health/rpc-state.ts";
import { makeContext, readTestSettings } from "../../testing/upkeep-context.ts";
import { checkData } from "./check-data.ts";

const well: NodeInfo = { rpc: { sinceMs: 0, fault: undefined }, chain: "expected", height: "advancing" };

/** `then`: the node's response when its process is not seen. */
async function lookWithoutProcess(then: RpcState) {
  const workspace = import.meta.dirname;
  const fileDeadline = { call: (_: string, run: () => unknown) => run() };
  const problem = { reason: "Missing", message: "It is not there." };
  const context = makeContext({
    settings: readTestSettings({ GATEHOUSE_SIDECAR_NODE_WORKSPACE: workspace }),
    place: {
      layout: () => ({ binDirectory: workspace, configPath: `${workspace}/node.conf` }),
      read: async () => ({ ok: false, problem }),
      fileDeadline,
      dataDeadline: fileDeadline,
      keyDeadline: fileDeadline,
    },
    health: { current: () => ({ ...unknownHealth, height: 9 }), facts: () => well, check: async () => then },
    rpc: {
      findBlock: async () => ({ kind: "found", hash: "0x5" }),
      peers: async () => 3,
      isSyncing: async () => false,
    },
    references: [],
    holders: { now: async () => [] },
    state: { healthy: { get: () => undefined }, upgrade: { get: () => undefined } },
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
