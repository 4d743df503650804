import type { Clock } from "#daemon/clock.ts";
import type { ProcessResult } from "#daemon/process/bounded-process.ts";
import { pause, waitUntil } from "#daemon/time.ts";
import type { HealthWatch } from "#health/health-watch.ts";
import { findProcessesIn } from "./host-processes.ts";

/** The start command and how to run it; `isDone` can end the wait for the command's exit. */
export type OpsStart = Readonly<{
  run: (isDone: (signal: AbortSignal) => Promise<boolean>) => Promise<ProcessResult>;
  directory: string;
  /** Time (monotonic) until which a process that exits at once is started again: the old process was killed, and its locks may persist. */
  lockedUntilMs: number;
}>;

export type OpsStartDependencies = Readonly<{ check: HealthWatch["check"]; clock: Clock }>;

const checkAgainMs = 50;

/** Time within which a process must appear after its start command has exited; the exit alone doesn't show whether there will be a process. */
const appearsMs = 3_000;

/** Time during which a process may run into a stale lock left by a killed one, and the interval between two starts during that time. */
export const lockMs = 20_000;
const startRetryMs = 2_000;

/** If the start command hasn't exited, times for which a node must respond to count as started: with a new block, and on an idle chain. */
const advancesMs = 2_000;
const idleMs = 30_000;

/**
 * Starts the node. Returns once its process exists, or once the start command shows that it failed. If the command hasn't exited while the
 * RPC responds and the height advances, it is the node itself or is waiting for the node to exit, and is left running. A process that exits
 * at once after the old one was killed is started again.
 */
export async function startByOps(
  start: OpsStart,
  signal: AbortSignal,
  dependencies: OpsStartDependencies,
): Promise<ProcessResult> {
  const { check, clock } = dependencies;
  const { directory, lockedUntilMs } = start;
  const before = new Set(await findProcessesIn(directory));
  const result = await start.run((done) => waitUntilAdvancing(done, dependencies));
  if (!result.ok || result.isLeft === true) return result;
  const wait = async (
    isRight: (found: Readonly<{ entryExists: boolean; responds: boolean }>) => boolean,
    withinMs: number,
  ) => {
    const probe = async () => ({
      entryExists: (await findProcessesIn(directory)).some((pid) => !before.has(pid)),
      responds: (await check(signal)).failure === undefined,
    });
    return waitUntil(probe, isRight, { everyMs: checkAgainMs, withinMs, signal }, clock);
  };
  const appeared = await wait(({ entryExists, responds }) => entryExists || responds, appearsMs);
  const lockedMs = () => lockedUntilMs - clock.monotonicMs();
  if (lockedMs() <= 0 || appeared.responds) return result;
  const { entryExists, responds } = await wait((found) => !found.entryExists || found.responds, lockedMs());
  if (entryExists || responds || lockedMs() <= 0) return result;
  await pause(startRetryMs, signal);
  return startByOps(start, signal, dependencies);
}

async function waitUntilAdvancing(signal: AbortSignal, { check, clock }: OpsStartDependencies): Promise<boolean> {
  let first: Readonly<{ height: number; atMs: number }> | undefined;
  const probe = async () => {
    const { failure, height } = await check(new AbortController().signal);
    first =
      failure !== undefined || height === undefined ? undefined : (first ?? { height, atMs: clock.monotonicMs() });
    const forMs = first === undefined ? 0 : clock.monotonicMs() - first.atMs;
    return { forMs, advances: first !== undefined && height !== undefined && height > first.height };
  };
  const isRight = ({ forMs, advances }: Awaited<ReturnType<typeof probe>>) => forMs >= (advances ? advancesMs : idleMs);
  const last = await waitUntil(probe, isRight, { everyMs: checkAgainMs, signal }, clock);
  return last.advances || isRight(last);
}
