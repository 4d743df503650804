import { afterEach, beforeEach, expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { makeContext } from "../../testing/upkeep-context.ts";
import { failedStartsMax } from "../state/data-evidence.ts";
import { openUpkeepState, type UpkeepState } from "../state/upkeep-state.ts";
import { recordStart } from "./restart-incident.ts";

let directory: string;
let state: UpkeepState;

beforeEach(async () => {
  directory = await makeTestDirectory();
  state = openUpkeepState(directory);
});

afterEach(() => state[Symbol.dispose]());

const failed = { ok: false, message: "its RPC did not respond", hasEnded: true } as const;
const countStarts = () => state.dataEvidence.get()?.failedStarts.length;

test("keeps a start whose process exited across a sidecar restart, and clears it after a successful start", () => {
  recordStart(failed, makeContext({ state }));
  state[Symbol.dispose]();
  state = openUpkeepState(directory);
  expect(state.dataEvidence.get()?.failedStarts).toEqual([expect.objectContaining({ message: failed.message })]);
  recordStart({ ok: true, tookMs: 5 }, makeContext({ state }));
  expect(state.dataEvidence.get()).toEqual({ failedStarts: [] });
});

test.each([
  "./ops exited with status 1: fork/exec ./bin/noded: no such file or directory",
  "./start.sh exited with status 1: ./start.sh: line 3: noded: command not found",
  "./start.sh exited with status 1: ./start.sh: 3: noded: not found",
  "docker exited with status 1: exec format error",
  "sh exited with status 127.",
  "its RPC did not respond within 10 ms of the restart: its process exited (the restart command printed: noded: cannot execute: required file not found)",
])("does not count a start that could not run a binary as evidence: %s", (message) => {
  recordStart({ ...failed, message }, makeContext({ state }));
  expect(state.dataEvidence.get()).toBeUndefined();
});

test("does not count a start whose process may still be running", () => {
  recordStart({ ...failed, hasEnded: false }, makeContext({ state }));
  expect(state.dataEvidence.get()).toBeUndefined();
});

test("stores only the newest starts", () => {
  for (let start = 0; start < failedStartsMax + 3; start += 1) recordStart(failed, makeContext({ state }));
  expect(countStarts()).toBe(failedStartsMax);
});
