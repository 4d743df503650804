import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { driftedConfig, startFakeNode, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { runUpkeep, type RunningUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { readUntil } from "#daemon/testing/until.ts";

const hourMs = 3_600_000;

/** A clock whose wall time a test changes, as a faulty time server would. */
function turnableClock(startMs: number) {
  let offsetMs = startMs - Date.now();
  const turnTo = (wallMs: number) => {
    offsetMs = wallMs - Date.now();
  };
  return { wallMs: () => Date.now() + offsetMs, monotonicMs: () => performance.now(), turnTo };
}

/** Makes the file drift, and waits until the node runs with the corrected one. */
async function corrects(node: FakeNode, upkeep: RunningUpkeep, job: string): Promise<void> {
  await writeFile(node.configPath, driftedConfig.replace("node-7", job));
  await readUntil(node.running, (text) => text.includes(`"storage_cetina_job_name": "${job}"`));
  await upkeep.reason("NoRestartPending", "NoRestart");
}

test("is unaffected by a clock that jumps an hour forward or back", async () => {
  await using node = await startFakeNode();
  const clock = turnableClock(Date.now());
  await using upkeep = await runUpkeep(node, {}, { clock });
  await corrects(node, upkeep, "before");
  const restarts = async () =>
    Number(/^gatehouse_node_restarts_in_last_hour (\d+)/m.exec(await upkeep.metrics.metrics())?.[1]);
  const restartsBefore = await restarts();
  for (const [job, jumpMs] of [
    ["forward", hourMs],
    ["back", -hourMs],
    ["further-back", -hourMs],
  ] as const) {
    clock.turnTo(clock.wallMs() + jumpMs);
    await corrects(node, upkeep, job);
  }
  // Each restart counts once in the budget, although the clock seems to have passed an hour.
  expect(await restarts()).toBe(restartsBefore + 3);
  expect(upkeep.board.list().filter(({ status }) => status === "False")).toEqual([]);
  expect(upkeep.state.hold.get()).toBeUndefined();
  // The newest event is first, in the order of events, regardless of the clock.
  const writes = upkeep.events.list().filter(({ kind }) => kind === "restart");
  expect(writes[0]?.message).toMatch(/^The node recovered and advances after/);
  expect(Date.parse(writes[0]!.at)).toBeLessThan(Date.parse(writes.at(-1)!.at));
});

test("corrects node.conf outside a maintenance window but restarts the node only inside it", async () => {
  await using node = await startFakeNode();
  const clock = turnableClock(Date.parse("2026-05-01T01:30:00Z"));
  await using upkeep = await runUpkeep(node, { GATEHOUSE_SIDECAR_RESTART_MAINTENANCE_CRON: "0 3 * * *" }, { clock });
  const { message } = await upkeep.reason("NoRestartPending", "WaitingForWindow");
  expect(message).toMatch(
    /^A restart is pending \(.*\); it waits for the maintenance window at 2026-05-01T03:00:00\.000Z\.$/,
  );
  expect(await node.config()).toContain('"storage_cetina_job_name": "node-7"');
  expect(await node.running()).toContain('"pamir_cetina_job_name": "node-7"');
  clock.turnTo(Date.parse("2026-05-01T02:59:58.500Z"));
  upkeep.upkeep.wake();
  await readUntil(node.starts, (starts) => starts === 2);
  expect(clock.wallMs()).toBeGreaterThanOrEqual(Date.parse("2026-05-01T03:00:00Z"));
  await upkeep.reason("NoRestartPending", "NoRestart");
  expect(await node.running()).toContain('"storage_cetina_job_name": "node-7"');
});
