import type { Clock } from "#daemon/clock.ts";

/** Background work that continues when the command that started it is killed. */
export type WorldTask = Readonly<{
  isDone: () => boolean;
  /** Returns the reason of its failure; undefined if it has not failed. */
  failure: () => string | undefined;
  /** Stops it before its next step. */
  end: () => void;
}>;

/** A step of a task, `afterMs` after its start; if `effect` throws, the task fails. */
export type TaskStep = Readonly<{ afterMs: number; effect: () => void }>;

/** Simulated time, advanced only by `advance`. */
export type WorldTime = Readonly<{
  clock: Clock;
  advance: (ms: number) => void;
  begin: (steps: readonly TaskStep[]) => WorldTask;
}>;

type Running = { readonly steps: TaskStep[]; readonly beganMs: number; failure: string | undefined };

/** Creates a simulated clock at 0 ms. */
export function createWorldTime(): WorldTime {
  let nowMs = 0;
  const runningTasks: Running[] = [];
  const advance = (ms: number) => {
    nowMs += ms;
    for (const task of runningTasks) runDue(task, nowMs);
  };
  return {
    clock: { wallMs: () => nowMs, monotonicMs: () => nowMs },
    advance,
    begin: (steps) => {
      const task: Running = { steps: [...steps], beganMs: nowMs, failure: undefined };
      runningTasks.push(task);
      runDue(task, nowMs);
      return {
        isDone: () => task.steps.length === 0,
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
