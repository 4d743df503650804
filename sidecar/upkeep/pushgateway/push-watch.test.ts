import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { pino } from "pino";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { systemClock } from "#daemon/clock.ts";
import { createConditionBoard } from "#status/condition-board.ts";
import { skipWaits } from "../../testing/skipped-waits.ts";
import { watchPushes } from "./push-watch.ts";

skipWaits();

const identity = () => ({ job: "node-7", intervalSeconds: 1 });

/** Watches a Pushgateway group to which this many nodes push in turn, each once a second. */
function watchGroup(pushers: () => number) {
  const log = pino({ level: "silent" });
  const events = { add: () => undefined, begin: () => undefined, fail: () => undefined, list: () => [] };
  const board = createConditionBoard({ log, metrics: new Registry(), clock: systemClock, events });
  const beganMs = systemClock.wallMs();
  const stopController = new AbortController();
  const { signal } = stopController;
  const send = () => {
    const everyMs = 1_000 / pushers();
    const last = Math.floor((systemClock.wallMs() - beganMs) / everyMs) * everyMs + beganMs;
    const responseBody = Readable.from([Buffer.from(`push_time_seconds{instance="",job="node-7"} ${last / 1_000}\n`)]);
    return Promise.resolve(Object.assign(responseBody, { statusCode: 200 }) as unknown as IncomingMessage);
  };
  const options = { url: "http://pushgateway.example", timeoutMs: 1_000, responseLimitBytes: 1_000 };
  const { done } = watchPushes(
    { ...options, staleAfterMs: 10_000, signal },
    { identity, board, clock: systemClock, send, log },
  );
  const until = (reason: string) =>
    expect.poll(() => board.get("MetricsArriving")?.reason, { interval: 10 }).toBe(reason);
  return {
    until,
    message: () => board.get("MetricsArriving")?.message,
    [Symbol.asyncDispose]: async () => {
      stopController.abort();
      await done;
    },
  };
}

test("reports two nodes that push under one job, with the job name, but not a single node", async () => {
  let pushers = 1;
  await using group = watchGroup(() => pushers);
  await group.until("Fresh");
  expect(group.message()).toMatch(/^Job "node-7" was pushed \d s ago\.$/);
  pushers = 2;
  await group.until("JobShared");
  expect(group.message()).toBe(
    'Several nodes push job "node-7" and overwrite each other; give each its own monitor.jobName.',
  );
  pushers = 1;
  await group.until("Fresh");
});
