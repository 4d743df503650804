import type { Clock } from "#daemon/clock.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { ProcessResult } from "#daemon/process/bounded-process.ts";
import { sendSignal } from "#daemon/process/send-signal.ts";
import { waitUntil, pause } from "#daemon/time.ts";
import type { HealthWatch } from "#health/health-watch.ts";
import { doneBySidecar, type EventLog } from "#status/event-log.ts";
import { DriverError } from "./driver.ts";
import type { ProcessIdentity } from "#daemon/process/running-process.ts";
import type { NodeProcesses } from "./host-processes.ts";

type OpsStopCommand = Readonly<{
  commandText: string;
  run: () => Promise<ProcessResult>;
  /** Whether this machine runs no other node, which the command might kill. */
  isAlone: () => Promise<boolean>;
  graceMs: number;
  kills: boolean;
}>;

export type OpsStopDependencies = Readonly<{
  processes: Pick<NodeProcesses, "find" | "inside" | "runs">;
  check: HealthWatch["check"];
  clock: Clock;
  events: Pick<EventLog, "add">;
  log: Logger;
}>;

type Stopped = Readonly<{
  result: ProcessResult | undefined;
  wasSeen: boolean;
  /** Whether the process was not seen to exit on its own, and so may briefly leave a lock behind. */
  isForced: boolean;
}>;

const checkAgainMs = 50;

/** Time limits: for a killed process to exit, and for determining that a node is down if its stop command couldn't even be run. */
const killedMs = 10_000;
const notRunMs = 1_000;

/** Number of consecutive checks without a usable response after which a node without a visible process counts as stopped. */
const downChecks = 3;

/**
 * Stops the node: SIGTERM, the stop command (not if it might kill another node on this machine), SIGKILL. Without a visible process, it
 * counts as exited once its RPC doesn't respond. @throws {DriverError} when it is still running.
 */
export async function stopWithOps(
  stop: OpsStopCommand,
  signal: AbortSignal,
  dependencies: OpsStopDependencies,
): Promise<Stopped> {
  const { commandText, run, isAlone, graceMs, kills } = stop;
  const { processes, log } = dependencies;
  const { own } = await processes.find();
  const waitForExit = (withinMs: number) => findRemainingProcesses(own, withinMs, signal, dependencies);
  if (graceMs > 0) for (const { pid } of own) sendSignal(pid, "SIGTERM");
  let left = await waitForExit(graceMs);
  const result = (await isAlone()) ? await run() : undefined;
  if (own.length === 0) {
    const { wasUp, isSeen } = await waitUntilDown(stop, result, signal, dependencies);
    if (isSeen) return stopWithOps(stop, signal, dependencies);
    return { result, wasSeen: false, isForced: wasUp };
  }
  const hasRemaining = left.length > 0;
  if (hasRemaining && result !== undefined) left = await waitForExit(killedMs);
  const isForced = hasRemaining && (kills || left.length > 0);
  if (isForced) {
    const how = left.length > 0 ? "SIGKILL" : commandText;
    for (const { pid } of left) sendSignal(pid, "SIGKILL");
    left = await waitForExit(killedMs);
    const [stays] = left;
    if (stays !== undefined) {
      throw new DriverError(
        `the node's process ${stays.pid} is still running after SIGKILL; check ps -o stat,wchan -p ${stays.pid}.`,
      );
    }
    const exitText = graceMs > 0 ? `did not exit within ${graceMs / 1_000} s of SIGTERM, and ` : "";
    reportRestart(`The node ${exitText}was stopped by ${how}.`, dependencies);
  } else log.info("the node exited on its own");
  return { result, wasSeen: true, isForced };
}

export function reportRestart(message: string, { log, events }: OpsStopDependencies): void {
  log.info(message);
  events.add("restart", message, undefined, doneBySidecar);
}

async function findRemainingProcesses(
  marks: readonly ProcessIdentity[],
  withinMs: number,
  signal: AbortSignal,
  { processes, clock }: OpsStopDependencies,
): Promise<readonly ProcessIdentity[]> {
  const check = async () => {
    const found = await Promise.all(marks.map(async (mark) => ((await processes.runs(mark)) ? [mark] : [])));
    return found.flat();
  };
  return waitUntil(check, (left) => left.length === 0, { everyMs: checkAgainMs, withinMs, signal }, clock);
}

/** Waits until the RPC is down, or the process becomes visible by its open port. `wasUp`: whether the RPC responded before. */
async function waitUntilDown(
  { commandText, graceMs }: OpsStopCommand,
  result: ProcessResult | undefined,
  signal: AbortSignal,
  { processes, check, clock }: OpsStopDependencies,
): Promise<Readonly<{ wasUp: boolean; isSeen: boolean }>> {
  let checkCount = 0;
  let wasUp = false;
  let isSeen = false;
  const isDown = async () => {
    const { failure } = await check(signal);
    wasUp ||= failure === undefined;
    isSeen = failure === undefined && (await processes.find()).own.length > 0;
    // A node that is merely slow may still be running.
    checkCount = failure === undefined || failure.reason === "TimedOut" ? 0 : checkCount + 1;
    return isSeen || checkCount >= downChecks;
  };
  // A command that couldn't even be run has stopped nothing.
  const hasRun = result?.ok === true || result?.exitStatus !== undefined;
  const withinMs = hasRun ? graceMs + killedMs : notRunMs;
  if (await waitUntil(isDown, Boolean, { everyMs: checkAgainMs, withinMs, signal }, clock)) return { wasUp, isSeen };
  if (result?.ok === false) throw new DriverError(result.message);
  const why = result === undefined ? "the node" : `the node still responds after ${commandText}, and`;
  throw new DriverError(`${why} is not visible as a process; run the sidecar as the node's user.`);
}

type OpsStart = Readonly<{
  run: (isDone: (signal: AbortSignal) => Promise<boolean>) => Promise<ProcessResult>;
  /** Time (monotonic) until which a process that exits at once is started again: the old process was killed, and its locks may persist. */
  lockedUntilMs: number;
}>;

type OpsStartDependencies = Pick<OpsStopDependencies, "processes" | "check" | "clock">;

/** Time within which a process must appear after its start command exited; the exit alone doesn't show whether it will. */
const appearsMs = 3_000;

/** Time during which a process may fail on a stale lock left by a killed one, and the interval between starts during that time. */
export const lockMs = 20_000;
const startRetryMs = 2_000;

/** If the start command hasn't exited, how long a node must respond to count as started: with a new block, and on an idle chain. */
const advancesMs = 2_000;
const idleMs = 30_000;

/**
 * Starts the node; returns once its process exists or the start failed. A command that doesn't exit while the height advances is the node, and is
 * left running. A process that exits at once after the old one was killed is started again: the old one's lock may remain.
 */
export async function startWithOps(
  start: OpsStart,
  signal: AbortSignal,
  dependencies: OpsStartDependencies,
): Promise<ProcessResult> {
  const { processes, check, clock } = dependencies;
  const { lockedUntilMs } = start;
  const pidsBefore = new Set(await processes.inside());
  const result = await start.run((done) => waitUntilAdvancing(done, dependencies));
  if (!result.ok || result.isLeft === true) return result;
  const wait = async (
    isRight: (found: Readonly<{ entryExists: boolean; responds: boolean }>) => boolean,
    withinMs: number,
  ) => {
    const probe = async () => ({
      entryExists: (await processes.inside()).some((pid) => !pidsBefore.has(pid)),
      responds: (await check(signal)).failure === undefined,
    });
    return waitUntil(probe, isRight, { everyMs: checkAgainMs, withinMs, signal }, clock);
  };
  const startOutcome = await wait(({ entryExists, responds }) => entryExists || responds, appearsMs);
  const lockedMs = () => lockedUntilMs - clock.monotonicMs();
  if (lockedMs() <= 0 || startOutcome.responds) return result;
  const { entryExists, responds } = await wait((found) => !found.entryExists || found.responds, lockedMs());
  if (entryExists || responds || lockedMs() <= 0) return result;
  await pause(startRetryMs, signal);
  return startWithOps(start, signal, dependencies);
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
