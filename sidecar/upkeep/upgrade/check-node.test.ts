import { expect, test } from "vitest";
import { makeContext } from "../../testing/upkeep-context.ts";
import { findNodeWarnings } from "./check-node.ts";

const healthyContext = makeContext({
  rpc: { blockHash: async () => undefined, peers: async () => 3 },
  health: { current: () => ({ answers: 1, height: 9 }), facts: () => ({}) },
});

test("warns before an upgrade if the node returns no block to verify its data", async () => {
  const baseline = { height: 9, autoPrune: false, tellsVersion: true };
  expect(await findNodeWarnings(baseline, healthyContext)).toEqual([expect.stringContaining("eth_getBlockByNumber")]);
  expect(await findNodeWarnings({ ...baseline, block: { number: 1, hash: "0x1" } }, healthyContext)).toEqual([]);
});
