import type { Clock } from "#daemon/clock.ts";
import type { Pause } from "#daemon/time.ts";
import type { StageOutcome } from "#sidecar/upgrade/next-stage.ts";
import type { PulumiCli, PulumiUpdate } from "./pulumi/pulumi-cli.ts";
import { PulumiError } from "./pulumi/pulumi-process.ts";
import { formatCancelCommand, type CommandLocation } from "./stack-commands.ts";
import { hostname } from "node:os";
import type { Processes } from "./pulumi/processes.ts";
import type { StackRecord } from "./stack-record.ts";

export type UpdateDependencies = Readonly<{
  pulumi: Pick<PulumiCli, "update" | "removeLocks">;
  processes: Pick<Processes, "startOf">;
  say: (line: string) => void;
  clock: Pick<Clock, "monotonicMs">;
  pause: Pause;
  signal: AbortSignal;
}>;

/** Max wait for another party's update, and retry interval. */
const lockedWithinMs = 600_000;
const checkAgainMs = 10_000;

/** Max attempts to remove a killed update's leftovers; each attempt removes all of them. */
const cleaningsMax = 3;

/** Max number of locks from killed updates to remove. */
const deadLocksMax = 3;

/** Errors about a locked stack, from a self-managed backend and from Pulumi's service. */
const locked = /currently locked|update is currently in progress/i;

export type UpdateOptions = Pick<CommandLocation, "stack" | "directory"> &
  Pick<PulumiUpdate, "withinMs" | "onBegin"> &
  Readonly<{
    /** Removes leftovers that block an update, based on the update's error `said`; returns the number removed. */
    removeStrays: (said: string) => Promise<number>;
    /** Called when the stack is found locked, before the wait. */
    onLocked: () => Promise<void>;
    /** Updates that this upgrade has started so far, some possibly killed. */
    begun: readonly BegunUpdate[];
  }>;

/**
 * Runs `pulumi up` despite leftovers of a killed update: waits for an update that is still running, removes the lock of an update that this
 * upgrade started, and removes node resources that Pulumi does not track.
 */
export async function updateStack(
  { withinMs, removeStrays, onBegin, onLocked, begun, ...place }: UpdateOptions,
  { pulumi, processes, say, clock, pause, signal }: UpdateDependencies,
): Promise<StageOutcome> {
  const untilMs = clock.monotonicMs() + lockedWithinMs;
  for (let cleanings = 0, deadLocks = 0; ;) {
    try {
      await pulumi.update({ withinMs, onBegin, onLine: (line) => say(`  ${line}`) });
      return { kind: "done" };
    } catch (error) {
      if (!(error instanceof PulumiError)) throw error;
      const holder = deadLocks < deadLocksMax ? await findDeadLock(error.said, begun, { processes }) : undefined;
      if (holder !== undefined) {
        deadLocks += 1;
        say(
          `The stack is locked by process ${holder}, a pulumi up of this upgrade that was killed; removing its lock.`,
        );
        await pulumi.removeLocks();
      } else if (locked.test(error.said)) {
        await onLocked();
        if (clock.monotonicMs() >= untilMs || signal.aborted) return { kind: "waits", why: explainLock(place) };
        say("Another update of the stack is under way, or one was killed; waiting for it.");
        await pause(checkAgainMs, signal);
      } else {
        const removed = cleanings < cleaningsMax ? await removeStrays(error.said) : 0;
        if (removed === 0) return { kind: "failed", why: error.message };
        cleanings += 1;
      }
    }
  }
}

function explainLock(place: Pick<CommandLocation, "stack" | "directory">): string {
  return `the stack is locked by another update. Wait for its end; if it was killed, see that none runs and say: ${formatCancelCommand(place)}`;
}

/** A lock as reported by a self-managed backend, one per line. */
const lockLine = /: created by \S+@(\S+) \(pid (\d+)\) at /g;
const lockCount = /currently locked by (\d+) lock/;

/** A `pulumi up` that this upgrade has started. */
type BegunUpdate = NonNullable<StackRecord["update"]>;

/**
 * Finds the process that left the stack locked, based on the error of a rejected `pulumi up`. The process is an update that this upgrade
 * started on this machine and that has ended. Undefined if another party holds a lock, or if this can't be determined.
 */
async function findDeadLock(
  said: string,
  begun: readonly BegunUpdate[],
  { processes }: Readonly<{ processes: Pick<Processes, "startOf"> }>,
): Promise<number | undefined> {
  const locks = [...said.matchAll(lockLine)].map(([, host, pid]) => ({ host, pid: Number(pid) }));
  const [lock] = locks;
  if (lock === undefined || locks.length > 1 || Number(lockCount.exec(said)?.[1]) !== 1) return undefined;
  const own = begun.find(({ pid }) => pid === lock.pid);
  if (own === undefined || lock.host !== hostname()) return undefined;
  return (await processes.startOf(own.pid)) === own.startedAt ? undefined : own.pid;
}
