import { expect, test } from "vitest";
import { makeContext } from "../../testing/upkeep-context.ts";
import { findNodeWarnings } from "./check-node.ts";

const healthy = makeContext({
  rpc: { blockHash: async () => undefined, peers: async () => 3 },
  health: { current: () => ({ answers: 1, height: 9 }), facts: () => ({}) },
});

test("warns before an upgrade if the node returns no block to verify its data", async () => {
  const before = { height: 9, autoPrune: false, tellsVersion: true };
  expect(await findNodeWarnings(before, healthy)).toEqual([expect.stringContaining("eth_getBlockByNumber")]);
  expect(await findNodeWarnings({ ...before, block: { number: 1, hash: "0x1" } }, healthy)).toEqual([]);
});
