import type { Clock } from "#daemon/clock.ts";
import type { Pause } from "#daemon/time.ts";
import type { Engine } from "./engine.ts";
import type { StepOutcome } from "./next-stage.ts";
import type { PulumiCli, PulumiUpdate } from "./pulumi/pulumi-cli.ts";
import { PulumiError } from "./pulumi/pulumi-process.ts";
import { formatCancelCommand, type CommandPlace } from "./stack-commands.ts";

export type UpdateDependencies = Readonly<{
  pulumi: Pick<PulumiCli, "update" | "readState" | "removeLocks">;
  engine: Pick<Engine, "inspect" | "stop" | "remove">;
  say: (line: string) => void;
  clock: Pick<Clock, "monotonicMs">;
  pause: Pause;
  signal: AbortSignal;
}>;

/** How long an update that somebody else runs is waited for, and how often it is looked. */
const lockedWithinMs = 600_000;
const lookAgainMs = 10_000;

/** How often what a killed update has left is removed; each time it is all that there is. */
const cleaningsMax = 3;

/** Locks of killed updates that are removed, at most. */
const deadLocksMax = 3;

/** A self-managed backend's words, and those of Pulumi's service. */
const locked = /currently locked|update is currently in progress/i;
/** What the engine says where a container is in the way: of its name, and of a volume that it has. */
const inTheWay = /container name "[^"]+" is already in use|last state: 'in_use'/;

export type UpdateOptions = Pick<CommandPlace, "stack" | "directory"> &
  Pick<PulumiUpdate, "withinMs" | "onBegin"> &
  Readonly<{
    /** The containers that may be removed. */
    names: readonly string[];
    /** Is told when the stack is found locked, before it is waited for. */
    onLocked: () => Promise<void>;
    /** Finds the process of a lock that no update has any more, in Pulumi's words; see dead-lock.ts. */
    findDeadLock: (said: string) => Promise<number | undefined>;
  }>;

/**
 * Runs `pulumi up`, and gets past what a killed one has left: waits for one that still runs, removes the lock of one that this upgrade began, and containers of the node
 * that Pulumi does not know.
 */
export async function updateStack(
  { withinMs, names, onBegin, onLocked, findDeadLock, ...place }: UpdateOptions,
  { pulumi, engine, say, clock, pause, signal }: UpdateDependencies,
): Promise<StepOutcome> {
  const untilMs = clock.monotonicMs() + lockedWithinMs;
  for (let cleanings = 0, deadLocks = 0; ;) {
    try {
      await pulumi.update({ withinMs, onBegin, onLine: (line) => say(`  ${line}`) });
      return { kind: "done" };
    } catch (error) {
      if (!(error instanceof PulumiError)) throw error;
      const holder = deadLocks < deadLocksMax ? await findDeadLock(error.said) : undefined;
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
        await pause(lookAgainMs, signal);
      } else {
        const isInTheWay = inTheWay.test(error.said) && cleanings < cleaningsMax;
        const removed = isInTheWay ? await removeStrays(names, { pulumi, engine, say }) : 0;
        if (removed === 0) return { kind: "failed", why: error.message };
        cleanings += 1;
      }
    }
  }
}

/** Removes the containers of these names that Pulumi does not know: an update that was killed has made them. Returns how many. */
async function removeStrays(
  names: readonly string[],
  { pulumi, engine, say }: Pick<UpdateDependencies, "pulumi" | "engine" | "say">,
): Promise<number> {
  const known = new Set((await pulumi.readState()).containers.values());
  let removed = 0;
  for (const name of names) {
    const found = await engine.inspect(name);
    if (found === undefined || known.has(found.Id)) continue;
    say(`An update that was ended has left ${name}, which Pulumi does not know; removing it.`);
    // It may be the node, at work over the only data: to end it within its grace comes first.
    await engine.stop(name);
    await engine.remove(name);
    removed += 1;
  }
  return removed;
}

function explainLock(place: Pick<CommandPlace, "stack" | "directory">): string {
  return `the stack is locked by another update. Wait for its end; if it was killed, see that none runs and say: ${formatCancelCommand(place)}`;
}
