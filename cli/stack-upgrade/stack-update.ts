import { waitUntil } from "#daemon/time.ts";
import { UpgradeError } from "#sidecar/upgrade/progress.ts";
import { interruptMs, PulumiError } from "./pulumi/pulumi-process.ts";
import { formatPulumiCommand } from "./stack-commands.ts";
import type { StackRecord } from "./stack-record.ts";
import type { StackTask } from "./stack-platform.ts";

const checkAgainMs = 1_000;

/** Waits for an earlier run's `pulumi up` and interrupts it at the limit: it would start the new version on top of the next step's results. */
export async function finishUpdate(
  { limits }: StackRecord,
  { pulumi, say, signal, clock, pause }: StackTask,
): Promise<void> {
  const runningUpdate = await pulumi.findUpdates();
  if (runningUpdate.length === 0) return;
  const what = `pulumi up of an earlier run (process ${runningUpdate.join(", ")})`;
  const check = async () => (await pulumi.findUpdates()).length === 0;
  const hasEnded = (limit: Readonly<{ withinMs: number; signal?: AbortSignal }>) =>
    waitUntil(check, Boolean, { everyMs: checkAgainMs, ...limit }, { ...clock, pause });
  say(`${what} is still running; waiting for it.`);
  if (await hasEnded({ withinMs: limits.updateMs, signal })) return;
  if (signal.aborted) throw new UpgradeError(`${what} is still running`, "waits");
  say(`It has taken longer than ${limits.updateMs} ms; interrupting it.`);
  // Sent only once: on a second SIGINT, Pulumi exits without recording its changes.
  for (const pid of runningUpdate) pulumi.interrupt(pid);
  if (!(await hasEnded({ withinMs: interruptMs }))) throw new UpgradeError(`${what} does not exit: kill it`, "waits");
}

/** Max wait for another party's update, and retry interval. */
const lockedWithinMs = 600_000;
const lockedAgainMs = 10_000;

/** Max attempts to repair what a killed update left; each attempt repairs all of it. */
const repairsMax = 3;

const lockedMessage =
  "the stack is locked by another update. Wait for it; if it was killed, check that no update is running, then run";

/** Errors about a locked stack, from a self-managed backend and from Pulumi's service. */
const lockedError = /currently locked|update is currently in progress/i;

/** Runs `pulumi up`: waits for another party's update, and removes resources of the node that a killed update left and Pulumi does not track. */
export async function updateStack(record: StackRecord, work: StackTask): Promise<void> {
  const { pulumi, platform, say, clock, pause, signal } = work;
  const untilMs = clock.monotonicMs() + lockedWithinMs;
  const cancel = formatPulumiCommand(record, "cancel", "--yes");
  for (let repairs = 0; ;) {
    try {
      return await pulumi.update({ withinMs: record.limits.updateMs, onLine: (line) => say(`  ${line}`) });
    } catch (error) {
      if (!(error instanceof PulumiError)) throw error;
      if (lockedError.test(error.said)) {
        if (clock.monotonicMs() >= untilMs || signal.aborted)
          throw new UpgradeError(`${lockedMessage}: ${cancel}`, "waits");
        say("Another update of the stack is in progress, or one was killed; waiting for it.");
        await pause(lockedAgainMs, signal);
      } else {
        if (repairs >= repairsMax || !(await platform.repair(error.said, record, work))) throw error;
        repairs += 1;
      }
    }
  }
}
