import { expect } from "vitest";
import type { RunningUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { until } from "#daemon/testing/until.ts";

/** Sees that data which starts showed to be corrupt are restored, proved, counted and audited; returns where the old ones were put. */
export async function expectRestoredByItself(
  upkeep: RunningUpkeep,
  foundWithinMs?: number,
): Promise<readonly string[]> {
  const restored = await upkeep.reason("DataSound", "Restored", foundWithinMs);
  expect(restored.message).toContain("were restored by themselves from");
  const proved = await upkeep.reason("UpgradeProved", "Proved");
  expect(proved.message).toContain("begun by the sidecar itself: the node's process ended in");
  expect(proved.message).toContain("To go back to them: stop the node, put ");
  const { stores, foundCorrupt } = upkeep.state.upgrade.get() ?? {};
  expect(foundCorrupt).toHaveLength(1);
  expect(await upkeep.metrics.metrics()).toContain('gatehouse_node_automatic_restores_total{end="committed"} 1');
  expect(countStarts(upkeep)).toBeGreaterThanOrEqual(3);
  expect(JSON.stringify(upkeep.audited)).toContain("The data were found corrupt: the node's process ended");
  return (stores ?? []).map(({ aside }) => aside);
}

/** Waits until a node runs well with the snapshot, which is used up now. */
export async function waitUntilUsed(upkeep: RunningUpkeep, withinMs: number): Promise<void> {
  await upkeep.reason("RestoreReady", "Used");
  await upkeep.reason("Unheld", "NoHold");
  await until("it is seen well with the snapshot", withinMs, () => upkeep.state.dataEvidence.get()?.mark);
}

/** Counts the starts of the node that are reported. */
const countStarts = ({ events }: RunningUpkeep) =>
  events.list().filter(({ message }) => /^(Restarting the node|The node did not come back)/.test(message)).length;
