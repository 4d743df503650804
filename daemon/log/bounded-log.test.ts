import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { generousMs, until } from "#daemon/testing/until.ts";
import { createBoundedLog } from "./bounded-log.ts";
import { createLog } from "./log.ts";

/** Waits until a condition is true; on timeout, the error contains its code. */
const soon = (holds: () => boolean) => until(holds.toString(), generousMs, holds);

type Line = Readonly<{ message: string; gatehouse?: Readonly<{ omitted?: number; withinMs?: number; n?: number }> }>;

function written() {
  const lines: Line[] = [];
  const log = createLog(
    { service: "test", level: "info" },
    { write: (line) => void lines.push(JSON.parse(line) as Line) },
  );
  return { lines, log };
}

test("writes some of thousands of similar lines, and one line with the number omitted", async () => {
  const { lines, log } = written();
  const boundedLog = createBoundedLog(log, { lines: 20, everyMs: 50 });
  for (let n = 0; n < 5_000; n += 1) boundedLog.warn({ event: "call-slow", n }, "slow call");
  boundedLog.info({ event: "call", n: 1 }, "another");
  expect(lines.map(({ message, gatehouse }) => [message, gatehouse?.n])).toEqual([
    ...Array.from({ length: 20 }, (_, n) => ["slow call", n]),
    ["another", 1],
  ]);
  await soon(() => lines.length > 21);
  expect(lines.slice(21)).toMatchObject([
    {
      "log.level": "warn",
      "event.action": "call-slow",
      message: "slow call: more like this were omitted",
      gatehouse: { omitted: 4_980, withinMs: 50 },
    },
  ]);
  boundedLog.warn({ event: "call-slow", n: 9 }, "slow call");
  expect(lines.at(-1)).toMatchObject({ message: "slow call", gatehouse: { n: 9 } });
});

test("writes or counts each line once, however long they arrive", async () => {
  const { lines, log } = written();
  const boundedLog = createBoundedLog(log, { lines: 3, everyMs: 20 });
  let made = 0;
  for (const end = performance.now() + 200; performance.now() < end; await delay(1)) {
    for (let at = 0; at < 50; at += 1, made += 1) boundedLog.warn({ event: "call-slow" }, "slow call");
  }
  await soon(() => lines.at(-1)?.gatehouse?.omitted !== undefined);
  const lineCount = lines.reduce((sum, { gatehouse }) => sum + (gatehouse?.omitted ?? 1), 0);
  expect(lineCount).toBe(made);
  expect(lines.length).toBeLessThan(60);
});

test("writes a few lines unchanged", async () => {
  const { lines, log } = written();
  const boundedLog = createBoundedLog(log, { lines: 3, everyMs: 20 });
  for (let at = 0; at < 3; at += 1) boundedLog.error({ event: "task-failed" }, "failed");
  await delay(60);
  expect(lines.map(({ message }) => message)).toEqual(["failed", "failed", "failed"]);
});
