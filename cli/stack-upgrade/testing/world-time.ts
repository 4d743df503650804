import type { Clock } from "#daemon/clock.ts";

/** Something that is at work by itself: it goes on when the command that began it is killed. */
export type WorldTask = Readonly<{
  isOver: () => boolean;
  /** Why it failed, if it did. */
  failure: () => string | undefined;
  /** Ends it where it is. */
  end: () => void;
}>;

/** What a task does, and how long after its beginning; to throw fails it. */
export type TaskStep = Readonly<{ afterMs: number; effect: () => void }>;

/** Time that goes by only when somebody lets it. */
export type WorldTime = Readonly<{
  clock: Clock;
  /** Lets time go by, and with it the work of all tasks. */
  advance: (ms: number) => void;
  begin: (steps: readonly TaskStep[]) => WorldTask;
}>;

type Running = { readonly steps: TaskStep[]; readonly beganMs: number; failure: string | undefined };

/** Creates time at its beginning. */
export function createWorldTime(): WorldTime {
  let nowMs = 0;
  const running: Running[] = [];
  const advance = (ms: number) => {
    nowMs += ms;
    for (const task of running) runDue(task, nowMs);
  };
  return {
    clock: { wallMs: () => nowMs, monotonicMs: () => nowMs },
    advance,
    begin: (steps) => {
      const task: Running = { steps: [...steps], beganMs: nowMs, failure: undefined };
      running.push(task);
      runDue(task, nowMs);
      return {
        isOver: () => task.steps.length === 0,
        failure: () => task.failure,
        end: () => task.steps.splice(0),
      };
    },
  };
}

function runDue(task: Running, nowMs: number): void {
  for (let next = task.steps[0]; next !== undefined; next = task.steps[0]) {
    if (task.beganMs + next.afterMs > nowMs) return;
    task.steps.shift();
    try {
      next.effect();
    } catch (error) {
      task.failure = (error as Error).message;
      task.steps.splice(0);
    }
  }
}
