import type { Pause } from "#daemon/time.ts";

/** Part of a simulation that can stop: its waits continue only while it runs. */
export type Actor = {
  readonly name: string;
  /** Clock rate, relative to true time. */
  readonly clockRate: number;
  /** Time until which it is suspended, like a stopped process. */
  stoppedUntilMs: number;
  /** Whether it is dead; its waits never complete then. */
  isDead: boolean;
};

/** Runs all waiting work in simulated time, in an order determined by a seed. */
export type Scheduler = Readonly<{
  nowMs: () => number;
  random: () => number;
  pick: <T>(items: readonly [T, ...T[]]) => T;
  actor: (name: string, clockRate?: number) => Actor;
  /** Yields, so that any other waiting work may run first. */
  turn: (actor: Actor) => Promise<void>;
  pauseOf: (actor: Actor) => Pause;
  /** Runs until `isOver`; returns false if it is not over by `untilMs`. */
  run: (isOver: () => boolean, untilMs: number) => Promise<boolean>;
}>;

type Turn = Readonly<{ actor: Actor; go: () => void }>;
type Timer = Readonly<{ actor: Actor; dueMs: number; go: () => void }>;

/** Probability that time advances while work is still possible now. */
const timePasses = 0.12;
/** Enough ticks for released work to reach its next wait; more do no harm, and fewer only change the order. */
const ticks = 12;

export function createScheduler(seed: number, startMs: number): Scheduler {
  const random = createRandom(seed);
  const turns = new Set<Turn>();
  const timers = new Set<Timer>();
  let nowMs = startMs;

  const canRun = ({ isDead, stoppedUntilMs }: Actor) => !isDead && stoppedUntilMs <= nowMs;
  const computeDue = ({ actor, dueMs }: Timer) => Math.max(dueMs, actor.stoppedUntilMs);
  const findNextTimer = (): Timer | undefined => {
    let next: Timer | undefined;
    for (const timer of timers) {
      if (timer.actor.isDead) timers.delete(timer);
      else if (next === undefined || computeDue(timer) < computeDue(next)) next = timer;
    }
    return next;
  };
  const passTime = async (): Promise<boolean> => {
    await new Promise(setImmediate);
    const timer = findNextTimer();
    if (timer === undefined) return false;
    timers.delete(timer);
    nowMs = Math.max(nowMs, computeDue(timer));
    timer.go();
    return true;
  };
  const step = async (): Promise<boolean> => {
    for (let tick = 0; tick < ticks; tick += 1) await undefined;
    const ready = [...turns].filter(({ actor }) => canRun(actor));
    const turn = ready[Math.floor(random() * ready.length)];
    if (turn === undefined || random() < timePasses) return passTime();
    turns.delete(turn);
    turn.go();
    return true;
  };
  return {
    nowMs: () => nowMs,
    random,
    pick: (items) => items[Math.floor(random() * items.length)] ?? items[0],
    actor: (name, clockRate = 1) => ({ name, clockRate, stoppedUntilMs: 0, isDead: false }),
    turn: (actor) => new Promise((go) => turns.add({ actor, go })),
    pauseOf: (actor) => (ms, signal) =>
      new Promise((go) => {
        if (signal?.aborted === true) return go();
        const timer = { actor, dueMs: nowMs + ms / actor.clockRate, go };
        timers.add(timer);
        const cut = () => {
          if (timers.delete(timer)) go();
        };
        signal?.addEventListener("abort", cut, { once: true });
      }),
    run: async (isOver, untilMs) => {
      while (!isOver()) {
        if (nowMs > untilMs || !(await step())) return false;
      }
      return true;
    },
  };
}

/** Creates a seeded generator of numbers in the range [0, 1) (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
