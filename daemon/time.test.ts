import { getEventListeners, once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, test } from "vitest";
import {
  pauseInBackground,
  repeat,
  DeadlineError,
  pause,
  poll,
  createTimeoutSignal,
  within,
  type Pause,
  createBackoff,
  doubleWait,
  waitUntil,
} from "./time.ts";

const hourMs = 3_600_000;
/** Timers that keep the process alive. */
const holdingTimers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
const never = () => new Promise<never>(() => undefined);

describe.each([
  ["pause", pause, 1],
  ["backgroundPause", pauseInBackground, 0],
])("%s", (_, wait, holds) => {
  it("waits for the given time", async () => {
    const startedAt = performance.now();
    await Promise.all([wait(50), sleep(60)]);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(49);
  });

  it("stops at once if the signal aborts, or has already aborted; no timer remains to keep the process alive", async () => {
    const timersBefore = holdingTimers();
    const stop = new AbortController();
    const pendingWait = wait(hourMs, stop.signal);
    expect(holdingTimers()).toBe(timersBefore + holds);
    stop.abort();
    await pendingWait;
    await wait(hourMs, stop.signal);
    expect(holdingTimers()).toBe(timersBefore);
  });

  it("leaves no listener on the signal, however often it waits", async () => {
    const { signal } = new AbortController();
    for (let round = 0; round < 20; round += 1) await Promise.all([wait(1, signal), sleep(2)]);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});

const rethrow = (error: unknown) => {
  throw error;
};

describe("repeat", () => {
  it("runs at once and after each wait, until disposal ends the wait", async () => {
    const runs: number[] = [];
    await using task = repeat(async () => void runs.push(runs.length), { intervalMs: hourMs, failed: rethrow });
    task.wake();
    await sleep(0);
    expect(runs).toEqual([0, 1]);
  });

  it("waits before the first run if configured, and skips exactly one wait if woken during a run", async () => {
    const steps: string[] = [];
    const next = Promise.withResolvers<void>();
    let wake: (() => void) | undefined;
    const task = repeat(
      async () => {
        steps.push("run");
        wake?.();
        wake?.();
        wake = undefined;
        if (steps.length === 5) next.resolve();
      },
      { intervalMs: 1, failed: rethrow, waitsFirst: true },
      { pause: async () => void steps.push("wait") },
    );
    wake = task.wake;
    await next.promise;
    await task[Symbol.asyncDispose]();
    expect(steps.slice(0, 4)).toEqual(["wait", "run", "run", "wait"]);
  });

  it("repeats a failed task", async () => {
    const failures: unknown[] = [];
    let runs = 0;
    const fail = async () => {
      runs += 1;
      throw new Error(`run ${runs}`);
    };
    await using task = repeat(fail, { intervalMs: hourMs, failed: (error) => void failures.push(error) });
    await sleep(0);
    task.wake();
    await sleep(0);
    expect(failures.map(String)).toEqual(["Error: run 1", "Error: run 2"]);
  });

  it("waits until woken without an interval, and leaves no timer", async () => {
    const timersBefore = holdingTimers();
    let runs = 0;
    await using task = repeat(async () => void (runs += 1), { intervalMs: Infinity, failed: rethrow });
    await sleep(0);
    expect([runs, holdingTimers()]).toEqual([1, timersBefore]);
    task.wake();
    await sleep(0);
    expect(runs).toBe(2);
  });
});

describe("poll", () => {
  const errors: unknown[] = [];
  const failures: unknown[] = [];
  const onFailure = (error: unknown) => void failures.push(error);
  const log = { error: (fields: unknown) => void errors.push(fields) };

  it("never overlaps itself: the pause starts after the run", async () => {
    const stop = new AbortController();
    const events: string[] = [];
    const noted: Pause = async (ms) => {
      events.push(`pause ${ms}`);
      if (events.length >= 6) stop.abort();
    };
    const task = async () => {
      events.push("start");
      await new Promise(setImmediate);
      events.push("end");
    };
    await poll({ name: "look", failed: onFailure, intervalMs: 70, signal: stop.signal }, task, { log, pause: noted })
      .ended;
    expect(events).toEqual(["start", "end", "pause 70", "start", "end", "pause 70"]);
  });

  it("logs what a run throws with the task name, reports it, and continues", async () => {
    const stop = new AbortController();
    const failure = new Error("no answer");
    let runs = 0;
    const task = async () => {
      runs += 1;
      if (runs === 1) throw failure;
      stop.abort();
    };
    await poll({ name: "look", failed: onFailure, intervalMs: hourMs, signal: stop.signal }, task, {
      log,
      pause: async () => undefined,
    }).ended;
    expect({ runs, errors, failures }).toEqual({
      runs: 2,
      errors: [{ event: "task-failed", err: failure, task: "look" }],
      failures: [failure],
    });
  });

  it("stops if the signal aborts during a pause, or after the current run if it aborts during one", async () => {
    const stop = new AbortController();
    const options = { name: "look", failed: onFailure, intervalMs: hourMs, signal: stop.signal };
    const { ended: pausedPoll } = poll(options, async () => undefined, { log });
    let isDone = false;
    const { ended: runningPoll } = poll(
      options,
      async (signal) => {
        await once(signal, "abort");
        await new Promise(setImmediate);
        isDone = true;
        throw signal.reason;
      },
      { log },
    );
    await new Promise(setImmediate);
    const loggedCount = errors.length;
    stop.abort();
    await Promise.all([pausedPoll, runningPoll]);
    expect({ isDone, logged: errors.length }).toEqual({ isDone: true, logged: loggedCount });
  });
});

const isBig = (found: number) => found >= 3;

describe("waitUntil", () => {
  it("checks at once, and repeats until the condition is met", async () => {
    let checkCount = 0;
    expect(await waitUntil(() => (checkCount += 1), isBig, { everyMs: 1, withinMs: hourMs })).toBe(3);
    expect(await waitUntil(async () => 7, isBig, { everyMs: hourMs, withinMs: hourMs })).toBe(7);
  });

  it("returns the last check at the timeout, by the given clock", async () => {
    let nowMs = 0;
    const clock = { monotonicMs: () => nowMs };
    const checkedAtMs: number[] = [];
    const measure = () => {
      checkedAtMs.push(nowMs);
      nowMs += 40;
      return 1;
    };
    expect(await waitUntil(measure, isBig, { everyMs: 1, withinMs: 100 }, clock)).toBe(1);
    expect(checkedAtMs).toEqual([0, 40, 80]);
  });

  it("stops during a pause if the signal aborts, without a further check", async () => {
    const stop = new AbortController();
    let checkCount = 0;
    const pendingWait = waitUntil(() => (checkCount += 1), isBig, { everyMs: hourMs, signal: stop.signal });
    await new Promise(setImmediate);
    stop.abort();
    expect(await pendingWait).toBe(1);
    expect(checkCount).toBe(1);
  });

  it("throws what a check throws", async () => {
    const failure = new Error("no answer");
    const measure = () => Promise.reject(failure);
    await expect(waitUntil(measure, isBig, { everyMs: 1, withinMs: hourMs })).rejects.toBe(failure);
  });
});

describe("within", () => {
  it("returns the result of the work, and leaves no timer", async () => {
    const timersBefore = holdingTimers();
    expect(await within("a response", hourMs, Promise.resolve(7))).toBe(7);
    await expect(within("a response", hourMs, Promise.reject(new Error("rejected")))).rejects.toThrow("rejected");
    expect(holdingTimers()).toBe(timersBefore);
  });

  it("reports the work that timed out", async () => {
    const late = within("a response", 5, never());
    await expect(late).rejects.toThrow(new DeadlineError("a response", 5));
    await expect(late).rejects.toMatchObject({
      code: "deadline_exceeded",
      message: "a response took longer than 5 ms",
    });
  });
});

test("a time limit expires with a timeout error", async () => {
  const startedAt = performance.now();
  const signal = createTimeoutSignal(200);
  await once(signal, "abort");
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(198);
  expect(signal.reason).toMatchObject({ name: "TimeoutError" });
});

test("a time limit does not count time in which the event loop is blocked", async () => {
  const signal = createTimeoutSignal(1_000);
  const until = performance.now() + 1_500;
  while (performance.now() < until);
  await sleep(1);
  expect(signal.aborted).toBe(false);
  await once(signal, "abort");
});

const waits = (random: () => number, count: number, options = { initialMs: 500, maxMs: 30_000 }) => {
  const backoff = createBackoff(options, { random });
  const all = Array.from({ length: count }, backoff.nextMs);
  backoff.reset();
  return { all, afterReset: backoff.nextMs() };
};

it("doubles the wait up to its max, and resets after a success", () => {
  const { all, afterReset } = waits(() => 0, 9);
  expect(all).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  expect(afterReset).toBe(500);
  expect(doubleWait(5_000, { initialMs: 500, maxMs: 30_000 })).toBe(30_000);
  expect(waits(() => 0, 2, { initialMs: 5_000, maxMs: 1_000 }).all).toEqual([1_000, 1_000]);
});

it("subtracts up to half of it at random", () => {
  expect(waits(() => 0.5, 3).all).toEqual([375, 750, 1_500]);
  const [last] = waits(() => 0.999, 8).all.slice(-1);
  expect(last).toBeCloseTo(15_015, 0);
});
