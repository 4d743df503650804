import type { Pause } from "#daemon/time.ts";
import { createRandom } from "../support/seeded-random.ts";

/** A scheduled event; simultaneous events run in the order in which they were scheduled. */
type Event = Readonly<{ dueMs: number; order: number; run: () => void }>;

/** Clock, randomness and events of one simulated run. Equal seeds produce equal runs. */
export type VirtualTime = Readonly<{
  /** Milliseconds since 1970. */
  nowMs: () => number;
  /** In the range [0, 1). */
  random: () => number;
  chance: (probability: number) => boolean;
  between: (least: number, most: number) => number;
  pick: <T>(items: readonly T[]) => T | undefined;
  /** Schedules an event. */
  after: (ms: number, run: () => void) => void;
  pause: Pause;
  /** Runs events until `isDone`; returns false if that is not reached by `untilMs`, or if no events are left. */
  run: (isDone: () => boolean, untilMs: number) => Promise<boolean>;
}>;

/** Creates a clock that starts at `startMs`. */
export function createVirtualTime(seed: number, startMs: number): VirtualTime {
  const random = createRandom(seed);
  const events = createEventQueue();
  let [nowMs, order] = [startMs, 0];
  const after: VirtualTime["after"] = (ms, run) =>
    events.add({ dueMs: nowMs + Math.ceil(ms), order: (order += 1), run });
  return {
    nowMs: () => nowMs,
    random,
    chance: (probability) => probability > 0 && random() < probability,
    between: (least, most) => least + random() * (most - least),
    pick: (items) => items[Math.floor(random() * items.length)],
    after,
    pause: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted === true) return resolve();
        const end = () => {
          signal?.removeEventListener("abort", end);
          resolve();
        };
        signal?.addEventListener("abort", end);
        after(ms, end);
      }),
    run: async (isDone, untilMs) => {
      await finishMicrotasks();
      while (!isDone()) {
        const event = events.next();
        if (event === undefined) return false;
        if (event.dueMs > untilMs) {
          events.add(event);
          nowMs = untilMs;
          return false;
        }
        nowMs = event.dueMs;
        event.run();
        await finishMicrotasks();
      }
      return true;
    },
  };
}

/** Waits until all microtasks have run: only then does Node run a tick that a microtask scheduled. */
const finishMicrotasks = () => new Promise<void>((resolve) => process.nextTick(resolve));

/** Binary heap, ordered by time, then by insertion. */
function createEventQueue(): Readonly<{ add: (event: Event) => void; next: () => Event | undefined }> {
  const heap: Event[] = [];
  const at = (index: number) => heap[index] as Event;
  const isEarlier = (a: Event, b: Event) => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
  const sink = (event: Event) => {
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isEarlier(at(child + 1), at(child))) child += 1;
      if (!isEarlier(at(child), event)) break;
      heap[index] = at(child);
      index = child;
    }
    heap[index] = event;
  };
  return {
    add: (event) => {
      let index = heap.length;
      heap.push(event);
      while (index > 0) {
        const parent = (index - 1) >> 1;
        if (!isEarlier(event, at(parent))) break;
        heap[index] = at(parent);
        index = parent;
      }
      heap[index] = event;
    },
    next: () => {
      const [first] = heap;
      const last = heap.pop();
      if (heap.length > 0 && last !== undefined) sink(last);
      return first;
    },
  };
}
