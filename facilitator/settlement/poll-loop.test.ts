import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createLog } from "#daemon/log/log.ts";
import { pause } from "#daemon/time.ts";
import { createPollLoop } from "./engine.ts";

const log = createLog({ service: "test", level: "silent" });

/** A loop that does one piece of work per poll; `done` waits until all of it is done. */
function loopOverWork({ intervalMs = 1, failures = 0 } = {}) {
  let left = 0;
  let looks = 0;
  let done = Promise.withResolvers<void>();
  const poll = async () => {
    looks += 1;
    if (looks <= failures) throw new Error("no chain");
    left -= 1;
    if (left === 0) done.resolve();
  };
  const loop = createPollLoop({ intervalMs }, { hasWork: () => left > 0, poll, log, pause, random: Math.random });
  return {
    add: (pieces: number) => {
      left += pieces;
      done = Promise.withResolvers<void>();
    },
    wake: loop.wake,
    done: () => done.promise,
    looks: () => looks,
    [Symbol.asyncDispose]: () => loop[Symbol.asyncDispose](),
  };
}

test("it looks until there is nothing left, and again when it is woken with work", async () => {
  await using loop = loopOverWork();
  for (const pieces of [3, 1]) {
    loop.add(pieces);
    loop.wake();
    await loop.done();
  }
  expect(loop.looks()).toBe(4);
});

test("being woken without work does not wear it out", async () => {
  await using loop = loopOverWork();
  loop.wake();
  loop.wake();
  loop.add(1);
  loop.wake();
  await loop.done();
  expect(loop.looks()).toBe(1);
});

test("being woken cuts a long wait short", async () => {
  await using loop = loopOverWork({ intervalMs: 60_000 });
  loop.add(2);
  loop.wake();
  await sleep(0);
  loop.wake();
  await loop.done();
});

test("a look that fails is tried again", async () => {
  await using loop = loopOverWork({ failures: 2 });
  loop.add(1);
  loop.wake();
  await loop.done();
  expect(loop.looks()).toBe(3);
});
