import { AsyncLocalStorage } from "node:async_hooks";
import { DeadlineError, within } from "../time.ts";
import { StartupError } from "./startup-error.ts";

/** Pending steps of a service's startup, oldest first. Kept in async context, so that the set need not be passed to each step. */
const pendingSteps = new AsyncLocalStorage<Set<string>>();

/**
 * Runs a service's startup with a deadline.
 *
 * @throws {StartupError} that lists the pending steps when the deadline expires.
 */
export async function startWithDeadline<T>(deadlineMs: number, start: () => Promise<T>): Promise<T> {
  const steps = new Set<string>();
  try {
    return await within("the start", deadlineMs, pendingSteps.run(steps, start));
  } catch (error) {
    if (!(error instanceof DeadlineError)) throw error;
    const what = steps.size === 0 ? "its own work" : [...steps].join(" and ");
    throw new StartupError(
      `did not start within ${deadlineMs} ms: it is still waiting for ${what}. Check that this responds.`,
      {
        cause: error,
      },
    );
  }
}

/** Records what a startup waits for while `work` runs, e.g. `PostgreSQL at db:5432 (GATEHOUSE_…)`. Outside of a startup it only runs `work`. */
export async function startStep<T>(what: string, work: () => Promise<T>): Promise<T> {
  const steps = pendingSteps.getStore();
  steps?.add(what);
  try {
    return await work();
  } finally {
    steps?.delete(what);
  }
}
