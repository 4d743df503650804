import type { Clock } from "#daemon/clock.ts";
import type { Pause } from "#daemon/time.ts";
import type { Engine } from "./engine.ts";
import type { StepOutcome } from "./next-stage.ts";
import type { PulumiCli, PulumiUpdate } from "./pulumi-cli.ts";
import { PulumiError } from "./pulumi-process.ts";
import { formatCancelCommand, type CommandPlace } from "./stack-commands.ts";

export type UpdateDependencies = Readonly<{
  pulumi: Pick<PulumiCli, "update">;
  engine: Pick<Engine, "stop" | "remove">;
  say: (line: string) => void;
  clock: Pick<Clock, "monotonicMs">;
  pause: Pause;
  signal: AbortSignal;
}>;

/** How long an update that somebody else runs is waited for, and how often it is looked. */
const lockedWithinMs = 600_000;
const lookAgainMs = 10_000;

/** Containers that a killed update may have made without Pulumi's knowing of it, at most. */
const strayMax = 10;

/** A self-managed backend's words, and those of Pulumi's service. */
const locked = /currently locked|update is currently in progress/i;
const takenName = /container name "\/?([\w.-]+)" is already in use/;

export type UpdateOptions = Pick<CommandPlace, "stack" | "directory"> &
  Pick<PulumiUpdate, "withinMs" | "onBegin"> &
  Readonly<{
    /** The containers that may be removed. */
    names: readonly string[];
    /** Is told when the stack is found locked, before it is waited for. */
    onLocked: () => Promise<void>;
  }>;

/**
 * Runs `pulumi up`, and gets past what a killed one has left: waits for one that still runs, and removes containers of the node that Pulumi does not know.
 */
export async function updateStack(
  { withinMs, names, onBegin, onLocked, ...place }: UpdateOptions,
  { pulumi, engine, say, clock, pause, signal }: UpdateDependencies,
): Promise<StepOutcome> {
  const untilMs = clock.monotonicMs() + lockedWithinMs;
  for (let strays = 0; ;) {
    try {
      await pulumi.update({ withinMs, onBegin, onLine: (line) => say(`  ${line}`) });
      return { kind: "done" };
    } catch (error) {
      if (!(error instanceof PulumiError)) throw error;
      const stray = takenName.exec(error.said)?.[1];
      if (locked.test(error.said)) {
        await onLocked();
        if (clock.monotonicMs() >= untilMs || signal.aborted) return { kind: "waits", why: explainLock(place) };
        say("Another update of the stack is under way, or one was killed; waiting for it.");
        await pause(lookAgainMs, signal);
      } else if (stray !== undefined && names.includes(stray) && strays < strayMax) {
        strays += 1;
        say(`An update that was ended has left ${stray}, which Pulumi does not know; removing it.`);
        // It may be the node, at work over the only data: to end it within its grace comes first.
        await engine.stop(stray);
        await engine.remove(stray);
      } else {
        return { kind: "failed", why: error.message };
      }
    }
  }
}

function explainLock(place: Pick<CommandPlace, "stack" | "directory">): string {
  return `the stack is locked by another update. Wait for its end; if it was killed, see that none runs and say: ${formatCancelCommand(place)}`;
}
