import { Registry } from "prom-client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createConditionBoard } from "#status/condition-board.ts";
import { pino } from "pino";
import { watchEventLoop } from "./event-loop-watch.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
afterEach(() => void vi.useRealTimers());

function startWatch() {
  let nowMs = 1_000;
  const clock = { wallMs: () => nowMs, monotonicMs: () => nowMs };
  const metrics = new Registry();
  const events = { add: () => undefined, begin: () => undefined, fail: () => undefined, list: () => [] };
  const board = createConditionBoard({ log: pino({ level: "silent" }), metrics, clock, events });
  const watch = watchEventLoop({ loopDelayMs: 1_000, loopDelayShare: 0.2 }, { clock, board, metrics });
  const tick = (lateMs: number) => {
    nowMs += 100 + lateMs;
    vi.advanceTimersByTime(100);
  };
  const run = (ms: number) => {
    for (let passedMs = 0; passedMs < ms; passedMs += 100) tick(0);
  };
  return { tick, run, watch, condition: () => board.get("GatewayResponsive") };
}

test("reports an event loop delayed by a second for ten seconds, and no longer", () => {
  const { tick, run, watch, condition } = startWatch();
  using _ = watch;
  run(1_000);
  expect(condition()?.reason).toBe("Responsive");
  tick(999);
  expect(condition()?.reason).toBe("Responsive");
  run(20_000);
  tick(1_600);
  expect(condition()).toMatchObject({
    status: "False",
    reason: "EventLoopDelayed",
    message: expect.stringContaining("delayed by up to 1600 ms, 16 % of the last 10 s."),
  });
  run(10_000);
  expect(condition()?.reason).toBe("EventLoopDelayed");
  run(100);
  expect(condition()).toMatchObject({ status: "True", reason: "Responsive" });
  expect(watch.lateMs()).toBe(2_599);
});

test("reports the longest delay of the last half second", () => {
  const { tick, run, watch } = startWatch();
  using _ = watch;
  run(1_000);
  expect(watch.recentMs()).toBe(0);
  tick(400);
  tick(20);
  expect(watch.recentMs()).toBe(400);
  run(300);
  expect(watch.recentMs()).toBe(400);
  run(100);
  expect(watch.recentMs()).toBe(20);
});

test("counts many short delays as much as one long one", () => {
  const { tick, watch, condition } = startWatch();
  using _ = watch;
  for (let ticks = 0; ticks < 19; ticks += 1) tick(100);
  expect(condition()?.reason).toBe("Responsive");
  tick(100);
  expect(condition()?.reason).toBe("EventLoopDelayed");
});

test("reports a recovery once the delays have halved, not each time that they cross the limit", () => {
  const { tick, run, watch, condition } = startWatch();
  using _ = watch;
  for (let round = 0; round < 9; round += 1) {
    tick(221);
    run(900);
  }
  expect(condition()?.reason).toBe("Responsive");
  const reasons = new Set<string | undefined>();
  for (let round = 0; round < 20; round += 1) {
    tick(round % 2 === 0 ? 260 : 160);
    run(900);
    reasons.add(condition()?.reason);
  }
  expect([...reasons]).toEqual(["EventLoopDelayed"]);
  run(6_000);
  expect(condition()?.reason).toBe("Responsive");
});
