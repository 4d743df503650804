import type { Clock } from "#daemon/clock.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { ProcessResult } from "#daemon/process/bounded-process.ts";
import { sendSignal } from "#daemon/process/send-signal.ts";
import { waitUntil } from "#daemon/time.ts";
import type { HealthWatch } from "#health/health-watch.ts";
import { doneBySidecar, type EventLog } from "#status/event-log.ts";
import { DriverError } from "./driver.ts";
import type { ProcessMark } from "../state/upgrade-record.ts";
import type { NodeProcesses } from "./node-processes.ts";

/** The stop command, how to run it, and the grace period in which the node can exit on its own. */
export type OpsStopCommand = Readonly<{
  words: string;
  run: () => Promise<ProcessResult>;
  /** Whether this machine runs no other node, which the command might kill. */
  isAlone: () => Promise<boolean>;
  graceMs: number;
  /** Whether the command kills the node instead of asking it to exit. */
  kills: boolean;
}>;

export type OpsStopDependencies = Readonly<{
  processes: Pick<NodeProcesses, "find" | "runs">;
  check: HealthWatch["check"];
  clock: Clock;
  events: Pick<EventLog, "add">;
  log: Logger;
}>;

/** Outcome of stopping a node. */
export type Stopped = Readonly<{
  /** Result of the stop command; undefined if it wasn't run, to protect another node. */
  result: ProcessResult | undefined;
  /** Whether the node's process was visible, so that its exit was observed. */
  wasSeen: boolean;
  /** Whether the process was not seen to exit on its own, in which case it may briefly leave a lock behind. */
  isForced: boolean;
}>;

const checkAgainMs = 50;

/** Time limits: for a killed process to exit, and for determining that a node is down if its stop command couldn't even be run. */
const killedMs = 10_000;
const notRunMs = 1_000;

/** Number of consecutive checks without a usable response after which a node without a visible process counts as stopped. */
const downLooks = 3;

/**
 * Stops the node, and returns once its process has exited. Tries SIGTERM first, then the stop command, then SIGKILL. A stop command may
 * kill every node on the machine, so it isn't run if there is another one. A node without a visible process has exited once its RPC stops
 * responding.
 *
 * @throws {DriverError} when the node is still running.
 */
export async function stopByOps(
  stop: OpsStopCommand,
  signal: AbortSignal,
  dependencies: OpsStopDependencies,
): Promise<Stopped> {
  const { words, run, isAlone, graceMs, kills } = stop;
  const { processes, log } = dependencies;
  const { own } = await processes.find();
  const waitForExit = (withinMs: number) => findLeft(own, withinMs, signal, dependencies);
  if (graceMs > 0) for (const { pid } of own) sendSignal(pid, "SIGTERM");
  let left = await waitForExit(graceMs);
  const result = (await isAlone()) ? await run() : undefined;
  if (own.length === 0) {
    const { wasUp, isSeen } = await waitUntilDown(stop, result, signal, dependencies);
    if (isSeen) return stopByOps(stop, signal, dependencies);
    return { result, wasSeen: false, isForced: wasUp };
  }
  const wasLeft = left.length > 0;
  if (wasLeft && result !== undefined) left = await waitForExit(killedMs);
  const isForced = wasLeft && (kills || left.length > 0);
  if (isForced) {
    const how = left.length > 0 ? "SIGKILL" : words;
    for (const { pid } of left) sendSignal(pid, "SIGKILL");
    left = await waitForExit(killedMs);
    const [stays] = left;
    if (stays !== undefined) {
      throw new DriverError(
        `the node's process ${stays.pid} still runs after SIGKILL; check ps -o stat,wchan -p ${stays.pid}.`,
      );
    }
    const within = graceMs > 0 ? `did not exit within ${graceMs / 1_000} s of SIGTERM, and ` : "";
    reportRestart(`The node ${within}was stopped by ${how}.`, dependencies);
  } else log.info("the node exited on its own");
  return { result, wasSeen: true, isForced };
}

/** Reports a message about a restart in the log and as an event. */
export function reportRestart(message: string, { log, events }: OpsStopDependencies): void {
  log.info(message);
  events.add("restart", message, undefined, doneBySidecar);
}

async function findLeft(
  marks: readonly ProcessMark[],
  withinMs: number,
  signal: AbortSignal,
  { processes, clock }: OpsStopDependencies,
): Promise<readonly ProcessMark[]> {
  const check = async () => {
    const found = await Promise.all(marks.map(async (mark) => ((await processes.runs(mark)) ? [mark] : [])));
    return found.flat();
  };
  return waitUntil(check, (left) => left.length === 0, { everyMs: checkAgainMs, withinMs, signal }, clock);
}

/**
 * Waits until the RPC stops responding, or until the process becomes visible through a port that it has opened in the meantime. Returns
 * whether the RPC responded before that.
 */
async function waitUntilDown(
  { words, graceMs }: OpsStopCommand,
  result: ProcessResult | undefined,
  signal: AbortSignal,
  { processes, check, clock }: OpsStopDependencies,
): Promise<Readonly<{ wasUp: boolean; isSeen: boolean }>> {
  let looks = 0;
  let wasUp = false;
  let isSeen = false;
  const isDown = async () => {
    const { failure } = await check(signal);
    wasUp ||= failure === undefined;
    isSeen = failure === undefined && (await processes.find()).own.length > 0;
    // A node that is merely slow may still be running.
    looks = failure === undefined || failure.reason === "TimedOut" ? 0 : looks + 1;
    return isSeen || looks >= downLooks;
  };
  // A command that couldn't even be run has stopped nothing.
  const hasRun = result?.ok === true || result?.exitStatus !== undefined;
  const withinMs = hasRun ? graceMs + killedMs : notRunMs;
  if (await waitUntil(isDown, Boolean, { everyMs: checkAgainMs, withinMs, signal }, clock)) return { wasUp, isSeen };
  if (result?.ok === false) throw new DriverError(result.message);
  const why = result === undefined ? "the node" : `the node still responds after ${words}, and`;
  throw new DriverError(`${why} is not visible as a process; run the sidecar as the node's user.`);
}
