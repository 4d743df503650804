import type { Clock } from "#daemon/clock.ts";
import type { Pause } from "#daemon/time.ts";
import type { StageOutcome } from "#sidecar/upgrade/next-stage.ts";
import type { Processes } from "./pulumi/processes.ts";
import { interruptMs } from "./pulumi/pulumi-process.ts";
import type { StackRecord } from "./stack-record.ts";

export type EndUpdateDependencies = Readonly<{
  processes: Processes;
  clock: Pick<Clock, "wallMs" | "monotonicMs">;
  pause: Pause;
  say: (line: string) => void;
  signal: AbortSignal;
}>;

const killMs = 10_000;
const checkAgainMs = 1_000;

/**
 * Ensures that no `pulumi up` from an earlier run is still running: waits for it until its time limit, then stops it. No other step may run
 * at the same time, because the update would start the new version on top of that step's results.
 */
export async function endUpdate(
  { update: begun, limits }: Pick<StackRecord, "update" | "limits">,
  dependencies: EndUpdateDependencies,
): Promise<StageOutcome> {
  const { processes, clock, say, signal } = dependencies;
  if (begun === undefined || !(await isAtWork(begun, dependencies))) return { kind: "done" };
  const { pid, beganMs } = begun;
  const hasEndedWithin = (ms: number, until?: AbortSignal) => waitForEnd(begun, { ms, until }, dependencies);
  say(`pulumi up of an earlier run (process ${pid}) is still at work; waiting for its end.`);
  const leftMs = Math.min(Math.max(0, beganMs + limits.updateMs - clock.wallMs()), limits.updateMs);
  if (await hasEndedWithin(leftMs, signal)) return { kind: "done" };
  if (signal.aborted) return { kind: "waits", why: `process ${pid}, a pulumi up of an earlier run, is still at work` };
  say(`It takes longer than ${limits.updateMs} ms; interrupting it.`);
  // Sent only once: on a second SIGINT, Pulumi exits without recording its changes.
  processes.interrupt(pid);
  if (await hasEndedWithin(interruptMs)) return { kind: "done" };
  await processes.kill(pid);
  if (await hasEndedWithin(killMs)) return { kind: "done" };
  return { kind: "waits", why: `process ${pid}, a pulumi up of an earlier run, can't be ended: end it` };
}

type Update = NonNullable<StackRecord["update"]>;

async function waitForEnd(
  update: Update,
  { ms, until }: Readonly<{ ms: number; until: AbortSignal | undefined }>,
  dependencies: EndUpdateDependencies,
): Promise<boolean> {
  const { clock, pause } = dependencies;
  const untilMs = clock.monotonicMs() + ms;
  while (await isAtWork(update, dependencies)) {
    if (until?.aborted === true || clock.monotonicMs() >= untilMs) return false;
    await pause(checkAgainMs, until);
  }
  return true;
}

async function isAtWork(
  { pid, startedAt }: Update,
  { processes }: Pick<EndUpdateDependencies, "processes">,
): Promise<boolean> {
  return (await processes.startOf(pid)) === startedAt;
}
