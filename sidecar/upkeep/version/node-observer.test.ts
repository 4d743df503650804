import { pino } from "pino";
import { expect, test } from "vitest";
import { unknownHealth, type RpcState } from "#health/rpc-state.ts";
import { readUntil } from "#daemon/testing/until.ts";
import { skipWaits } from "../../testing/skipped-waits.ts";
import type { NodeCliResult } from "../drivers/node-cli.ts";
import { observeNode } from "./node-observer.ts";

skipWaits();

const log = pino({ level: "silent" });
const hourMs = 3_600_000;
const missingContainer: NodeCliResult<never> = { ok: false, reason: "Failed", message: "container not found" };

/** An observer with a failing tool, at a time and with a node that the test sets. */
async function observedFailing() {
  const now = { ms: 0, health: unknownHealth as RpcState };
  const clock = { wallMs: () => now.ms, monotonicMs: () => now.ms };
  const asked: number[] = [];
  const stopController = new AbortController();
  const nodeCli = {
    version: async () => missingContainer,
    enableAutoPrune: async () => missingContainer,
    enableCommand: () => "",
    pruneInfo: async () => {
      asked.push(now.ms);
      return missingContainer;
    },
  };
  const observer = observeNode(
    { intervalMs: hourMs, signal: stopController.signal },
    { nodeCli, commits: () => ({}), health: () => now.health, clock, log, onTool: () => {}, onChange: () => {} },
  );
  await readUntil(
    () => asked,
    ({ length }) => length === 1,
  );
  return {
    now,
    asked,
    retryFailed: observer.retryFailed,
    [Symbol.asyncDispose]: async () => {
      stopController.abort();
      await observer.done;
    },
  };
}

test("retries a failed tool after one second, then with growing delays", async () => {
  await using failingObserver = await observedFailing();
  const { now, asked } = failingObserver;
  for (const ms of [1_000, 3_000, 7_000]) {
    now.ms = ms;
    await readUntil(
      () => asked,
      (times) => times.at(-1) === ms,
    );
  }
  expect(asked).toEqual([0, 1_000, 3_000, 7_000]);
});

test("retries a failed tool as soon as the node starts to respond", async () => {
  await using failingObserver = await observedFailing();
  failingObserver.now.health = { answers: 1, height: 7 };
  await readUntil(
    () => failingObserver.asked,
    (times) => times.length === 2,
  );
  expect(failingObserver.asked).toEqual([0, 0]);
});

test("retries a failed tool at once after node.conf was changed", async () => {
  await using failingObserver = await observedFailing();
  failingObserver.retryFailed();
  await readUntil(
    () => failingObserver.asked,
    (times) => times.length === 2,
  );
  expect(failingObserver.asked).toEqual([0, 0]);
});
