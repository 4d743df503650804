import { describe, expect, it } from "vitest";
import { SharedTurns, createTurns, turnBytes, CallerRounds } from "./shared-turns.ts";

/** Ticks on a clock that only work advances; the test starts each tick. */
function createManualTurns() {
  const state = { now: 0 };
  let later: (() => void)[] = [];
  const turns = new SharedTurns({ now: () => state.now, later: (run) => void later.push(run) });
  return {
    turns,
    work: (ms: number) => void (state.now += ms),
    /** Returns whether there was a tick to run. */
    nextTurn: () => {
      const begun = later;
      later = [];
      for (const run of begun) run();
      return begun.length > 0;
    },
  };
}

/** A caller with this many pieces of work, each of which takes 0.4 ms at a time and reports it. */
function flood({ turns, work }: ReturnType<typeof createManualTurns>, caller: string, pieces: number, done: string[]) {
  for (let piece = 0; piece < pieces; piece += 1) {
    const proceed = () => {
      do {
        work(0.4);
        done.push(caller);
      } while (!turns.isTickUsedUp());
      turns.wait(caller, proceed);
    };
    turns.wait(caller, proceed);
  }
}

describe("SharedTurns", () => {
  it("lets work continue until the tick's time is used up, counted from the first check", () => {
    const { turns, work, nextTurn } = createManualTurns();
    work(100);
    expect(turns.isTickUsedUp()).toBe(false);
    work(0.8);
    expect(turns.isTickUsedUp()).toBe(false);
    work(0.4);
    expect(turns.isTickUsedUp()).toBe(true);
    nextTurn();
    expect(turns.isTickUsedUp()).toBe(false);
  });

  it("yields the thread after each tick, however much is queued", () => {
    const hand = createManualTurns();
    const done: string[] = [];
    flood(hand, "a", 1_000, done);
    for (let turn = 1; turn <= 20; turn += 1) {
      hand.nextTurn();
      expect(done).toHaveLength(3 * turn);
    }
  });

  it("serves callers round-robin: one caller's thousand chunks delay another by one chunk", () => {
    const hand = createManualTurns();
    const done: string[] = [];
    flood(hand, "a", 1_000, done);
    for (let turn = 0; turn < 5; turn += 1) hand.nextTurn();
    hand.turns.wait("b", () => done.push("b"));
    flood(hand, "c", 1, done);
    const countBefore = done.length;
    for (let turn = 0; turn < 4; turn += 1) hand.nextTurn();
    expect(done.slice(countBefore).join("")).toBe("aaabcccaaaccc");
  });

  it("starts only a few reads per tick", () => {
    const { turns, nextTurn } = createManualTurns();
    let begun = 0;
    for (let reader = 0; reader < 40; reader += 1) turns.wait(`reader ${reader}`, () => (begun += 1));
    nextTurn();
    expect(begun).toBe(8);
    for (let turn = 0; turn < 4; turn += 1) nextTurn();
    expect(begun).toBe(40);
  });

  it("serves one short call per caller after the time is used up, but none ahead of that caller's queue", () => {
    const { turns, work, nextTurn } = createManualTurns();
    expect([turns.mayBegin("a"), turns.mayBegin("a")]).toEqual([true, true]);
    work(3);
    expect(turns.mayBegin("a")).toBe(true);
    expect(turns.mayBegin("a")).toBe(false);
    expect(turns.mayBegin("b")).toBe(true);
    turns.wait("c", () => work(3));
    expect(turns.mayBegin("c")).toBe(false);
    nextTurn();
    expect([turns.mayBegin("a"), turns.mayBegin("c"), turns.mayBegin("a")]).toEqual([true, true, false]);
  });
});

/** Ticks on a clock that the test sets; the test also runs the later ticks. */
function createTurnsWithClock() {
  const state = { now: 0 };
  const later: (() => void)[] = [];
  const sharedTurns = new SharedTurns({ now: () => state.now, later: (run) => void later.push(run) });
  return {
    sharedTurns,
    /** Another caller uses up this tick's time. */
    use: () => {
      sharedTurns.isTickUsedUp();
      state.now += 100;
    },
    next: () => later.shift()?.(),
  };
}

describe("work in a tick whose time is used up", () => {
  it("waits for its caller's turn even at its start, then continues", () => {
    const { sharedTurns, use, next } = createTurnsWithClock();
    let steps = 0;
    const step = () => ((steps += 1) <= 3 ? turnBytes : 0);
    use();
    createTurns(sharedTurns, "a").run(step, () => false);
    expect(steps).toBe(0);
    next();
    expect(steps).toBe(4);
  });

  it("is not postponed forever if each tick has time for only one step", () => {
    const { sharedTurns, use, next } = createTurnsWithClock();
    let steps = 0;
    const step = () => {
      steps += 1;
      use();
      return steps <= 3 ? turnBytes : 0;
    };
    use();
    createTurns(sharedTurns, "a").run(step, () => false);
    for (let turn = 1; turn <= 4; turn += 1) {
      next();
      expect(steps).toBe(turn);
    }
  });
});

it("alternates between callers, and keeps each caller's order", () => {
  const rounds = new CallerRounds<string>();
  for (const pendingCall of ["a1", "a2", "a3"]) rounds.add("a", pendingCall);
  rounds.add("b", "b1");
  expect(rounds.next()).toBe("a1");
  rounds.add("c", "c1");
  rounds.add("b", "b2");
  const taken: (string | undefined)[] = [];
  while (!rounds.isEmpty) taken.push(rounds.next());
  expect(taken).toEqual(["b1", "a2", "c1", "b2", "a3"]);
  expect(rounds.has("a")).toBe(false);
  expect(rounds.next()).toBeUndefined();
});
