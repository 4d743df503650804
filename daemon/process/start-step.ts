import { AsyncLocalStorage } from "node:async_hooks";
import { DeadlineError, within } from "../time.ts";
import { StartupError } from "./startup-error.ts";

/** Steps that a service's start waits for now, oldest first. Held by the start alone, so that no step has to be handed one. */
const waitingFor = new AsyncLocalStorage<Set<string>>();

/** Time limit of a start, and the setting that names it. */
export type StartDeadline = Readonly<{ deadlineMs: number; setting: string }>;

/**
 * Runs a service's start, but no longer than the deadline.
 *
 * @throws {StartupError} that names the steps under way when the time is over.
 */
export async function startWithin<T>({ deadlineMs, setting }: StartDeadline, start: () => Promise<T>): Promise<T> {
  const steps = new Set<string>();
  try {
    return await within("the start", deadlineMs, waitingFor.run(steps, start));
  } catch (error) {
    if (!(error instanceof DeadlineError)) throw error;
    const what = steps.size === 0 ? "its own work" : [...steps].join(" and ");
    throw new StartupError(
      `did not start within ${deadlineMs} ms: it still waits for ${what}. See that it answers, or raise ${setting}.`,
      { cause: error },
    );
  }
}

/**
 * Notes what a start waits for while `work` runs, e.g. `PostgreSQL at db:5432 (GATEHOUSE_…)`. Outside of a start it runs `work` and does
 * nothing else.
 */
export async function startStep<T>(what: string, work: () => Promise<T>): Promise<T> {
  const steps = waitingFor.getStore();
  steps?.add(what);
  try {
    return await work();
  } finally {
    steps?.delete(what);
  }
}
