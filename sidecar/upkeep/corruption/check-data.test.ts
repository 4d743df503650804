import { expect, test } from "vitest";
import { systemClock } from "#daemon/clock.ts";
import { readSettings } from "#daemon/settings/settings.ts";
import { unknownHealth, type NodeInfo, type RpcState } from "#health/rpc-state.ts";
import { sidecarSettings } from "../../settings.ts";
import { checkData } from "./check-data.ts";

const well: NodeInfo = { rpc: { sinceMs: 0, fault: undefined }, chain: "expected", height: "advancing" };

/** `then`: the node's response when its process is not seen. */
async function lookWithoutProcess(then: RpcState) {
  const workspace = import.meta.dirname;
  const fileDeadline = { call: (_: string, run: () => unknown) => run() } as never;
  const layout = () => ({ binDirectory: workspace, configPath: `${workspace}/node.conf` }) as never;
  const problem = { reason: "Missing", message: "It is not there." } as const;
  return checkData(
    { failedStarts: [] },
    {
      settings: readSettings(sidecarSettings, { env: { GATEHOUSE_SIDECAR_NODE_WORKSPACE: workspace } }),
      place: {
        layout,
        read: async () => ({ ok: false, problem }) as never,
        fileDeadline,
        dataDeadline: fileDeadline,
        keyDeadline: fileDeadline,
      },
      driver: undefined,
      health: { current: () => ({ ...unknownHealth, height: 9 }), facts: () => well, check: async () => then },
      rpc: {
        findBlock: async () => ({ kind: "found", hash: "0x5" }),
        peers: async () => 3,
        isSyncing: async () => false,
      },
      references: [],
      holders: { now: async () => [] },
      observer: { version: () => ({}) as never },
      state: {
        healthy: { get: () => undefined, set: () => undefined },
        upgrade: { get: () => undefined, set: () => undefined },
      },
      clock: systemClock,
      signal: new AbortController().signal,
    },
  );
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
