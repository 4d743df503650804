import { expect, test } from "vitest";
import { systemClock } from "#daemon/clock.ts";
import { readSettings } from "#daemon/settings/settings.ts";
import { unknownHealth, type NodeInfo, type NodeHealth } from "#health/node-health.ts";
import { sidecarSettings } from "../../settings.ts";
import { lookAtData } from "./look-at-data.ts";

const well: NodeInfo = { rpc: { sinceMs: 0, fault: undefined }, chain: "expected", height: "advancing" };

/** A look at a node that answered when it began, and whose process is not seen; `then`: how the node answers when that is found. */
async function lookWithoutProcess(then: NodeHealth) {
  const workspace = import.meta.dirname;
  const fileDeadline = { call: (_: string, run: () => unknown) => run() } as never;
  const layout = () => ({ binDirectory: workspace, configPath: `${workspace}/node.conf` }) as never;
  const problem = { reason: "Missing", message: "It is not there." } as const;
  return lookAtData(
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
      health: { current: () => ({ ...unknownHealth, height: 9 }), facts: () => well, look: async () => then },
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

test("a node that ended while it was looked at is not taken for one that runs well without a process: what was known of its process stays", async () => {
  const { look } = await lookWithoutProcess({
    ...unknownHealth,
    failure: { reason: "ConnectionRefused", message: "Refused." },
  });
  expect(look).toMatchObject({ isAnswering: false, isWell: false, height: undefined });
});

test("a node that answers, and whose process the sidecar can't see, runs well", async () => {
  const { look, process } = await lookWithoutProcess({ ...unknownHealth, height: 9 });
  expect([look.isWell, process]).toEqual([true, undefined]);
});
