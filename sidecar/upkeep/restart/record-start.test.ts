import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { makeContext } from "../../testing/upkeep-context.ts";
import { failedStartsStored } from "../state/data-evidence.ts";
import { openUpkeepState, type UpkeepState } from "../state/upkeep-state.ts";
import { recordStart } from "./verify-restart.ts";

let directory: string;
let memoryPath: string;
let state: UpkeepState;

beforeEach(async () => {
  directory = await makeTestDirectory();
  memoryPath = join(directory, "vmstat");
  state = openUpkeepState(directory);
});

afterEach(() => state[Symbol.dispose]());

const failed = { ok: false, message: "its RPC did not respond", end: { kind: "ended", afterMs: 1_500 } } as const;

test("keeps a failed start and its exit status across a sidecar restart, and clears it after a successful start", async () => {
  const record = await recordStart(makeContext({ state }), memoryPath);
  await record(failed, "hash");
  state[Symbol.dispose]();
  state = openUpkeepState(directory);
  expect(state.dataEvidence.get()?.failedStarts).toEqual([
    expect.objectContaining({ kind: "ended", afterMs: 1_500, configHash: "hash", lackedMemory: false }),
  ]);
  const good = await recordStart(makeContext({ state }), memoryPath);
  await good({ ok: true, tookMs: 5 }, "hash");
  expect(state.dataEvidence.get()).toEqual({ failedStarts: [] });
});

test("notices a process killed by the system for lack of memory", async () => {
  await writeFile(memoryPath, "nr_free_pages 5\noom_kill 3\n");
  const record = await recordStart(makeContext({ state }), memoryPath);
  await writeFile(memoryPath, "nr_free_pages 5\noom_kill 4\n");
  await record(failed, "hash");
  expect(state.dataEvidence.get()?.failedStarts.at(-1)?.lackedMemory).toBe(true);
});

test.each([
  "./ops exited with status 1: fork/exec ./bin/noded: no such file or directory",
  "./start.sh exited with status 1: ./start.sh: line 3: noded: command not found",
  "./start.sh exited with status 1: ./start.sh: 3: noded: not found",
  "docker exited with status 1: exec format error",
  "sh exited with status 127.",
  "its RPC did not respond within 10 ms of the restart: its process exited (the restart command printed: noded: cannot execute: required file not found)",
])("does not count a start that could not run a binary as evidence: %s", async (message) => {
  const record = await recordStart(makeContext({ state }), memoryPath);
  await record({ ...failed, message }, "hash");
  expect(state.dataEvidence.get()?.failedStarts).toEqual([expect.objectContaining({ message })]);
  expect(state.dataEvidence.get()?.failedStarts[0]).not.toHaveProperty("kind");
});

test("stores only as many starts as it evaluates", async () => {
  for (let start = 0; start < failedStartsStored + 3; start += 1) {
    const record = await recordStart(makeContext({ state }), memoryPath);
    await record(failed, `${start}`);
  }
  const { failedStarts = [] } = state.dataEvidence.get() ?? {};
  expect([failedStarts.length, failedStarts.at(-1)?.configHash]).toEqual([
    failedStartsStored,
    `${failedStartsStored + 2}`,
  ]);
});
