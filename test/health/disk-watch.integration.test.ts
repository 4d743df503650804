import { statfs } from "node:fs/promises";
import { pino } from "pino";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { createConditionBoard } from "#status/condition-board.ts";
import { openUpkeepState } from "#sidecar/upkeep/state/upkeep-state.ts";
import { watchDisk } from "#health/disk-watch.ts";
import { readUntil } from "#daemon/testing/until.ts";

const log = pino({ level: "silent" });
const hourMs = 3_600_000;

/** Runs one check of a path by a sidecar, at a given wall-clock time, with the state shared by consecutive checks. */
async function lookOnce(stateDirectory: string, path: string, wallMs: number) {
  using state = openUpkeepState(stateDirectory);
  const stopController = new AbortController();
  const metrics = new Registry();
  const clock = { wallMs: () => wallMs, monotonicMs: () => 0 };
  const board = createConditionBoard({
    log,
    metrics,
    clock,
    events: { add: () => undefined, begin: () => undefined, fail: () => undefined, list: () => [] },
  });
  const watching = watchDisk(
    {
      freeRatio: 0,
      fullWithinSeconds: 86_400,
      forecastAfterSeconds: 10_800,
      fileTimeoutMs: 5_000,
      intervalMs: 60_000,
      signal: stopController.signal,
    },
    { dataPath: () => path, history: state.diskHistory, onCheck: () => undefined, board, metrics, clock, log },
  );
  const condition = await readUntil(
    () => board.get("DiskSpaceSufficient"),
    (found) => found !== undefined,
  );
  stopController.abort();
  await watching;
  return { condition, text: await metrics.metrics() };
}

async function directory(): Promise<string> {
  const made = await makeTestDirectory();
  return made;
}

const forecast = /^gatehouse_node_disk_full_in_seconds (\S+)$/m;

test("forecasts from measurements before a sidecar restart, and exports no forecast until then", async () => {
  const [stateDirectory, path] = [await directory(), await directory()];
  const first = await lookOnce(stateDirectory, path, 0);
  expect(first.text).toMatch(/^gatehouse_node_disk_used_bytes \d+$/m);
  expect(first.text).not.toMatch(forecast);
  expect(first.condition).toMatchObject({ status: "True", reason: "Sufficient" });
  // This machine's disk does not fill up during a test, so the first reading is reduced instead.
  const { blocks, bfree, bsize } = await statfs(path);
  const usedBytes = (blocks - bfree) * bsize;
  {
    using state = openUpkeepState(stateDirectory);
    state.diskHistory.set({ path, uses: [{ atMs: 0, usedBytes: usedBytes / 2 }] });
  }
  const early = await lookOnce(stateDirectory, path, 2 * hourMs);
  expect(early.text).not.toMatch(forecast);
  const late = await lookOnce(stateDirectory, path, 4 * hourMs);
  expect(Number(forecast.exec(late.text)?.[1])).toBeGreaterThan(0);
  expect(late.condition?.message).toMatch(/At the rate of the last 4\.0 hours, it will be full in /);
});

test("reports a disk that can't be read as unknown, without a series", async () => {
  const { condition, text } = await lookOnce(await directory(), "/nowhere", 0);
  expect(condition).toMatchObject({ status: "Unknown", reason: "ReadFailed" });
  expect(text).not.toMatch(/^gatehouse_node_disk_/m);
});
