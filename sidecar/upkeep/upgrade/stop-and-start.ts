import { pause, waitUntil } from "#daemon/time.ts";
import { DriverError, type NodeDriver, type RestartReport } from "../drivers/driver.ts";
import { waitForResponse } from "../restart/restart-verification.ts";
import type { ProcessIdentity } from "#daemon/process/running-process.ts";
import { UpgradeError } from "../../upgrade/progress.ts";
import type { UpgradeContext } from "./upgrade-context.ts";

/** A driver that stops and starts the node in two steps; in between, nothing uses the node's files. */
type StopStartDriver = NodeDriver & Required<Pick<NodeDriver, "stop" | "start">>;

export type StopStartContext = UpgradeContext & Readonly<{ driver: StopStartDriver }>;

const checkAgainMs = 100;

/** Number of consecutive checks that must find the port closed: a supervisor may be about to restart the node. */
const closedChecks = 3;

export function canStopAndStart(driver: NodeDriver | undefined): driver is StopStartDriver {
  return driver?.stop !== undefined && driver.start !== undefined;
}

/**
 * Stops the node, and checks that its port is closed and that the processes that listened on it have exited: a node closes its port first
 * and then writes its data. The command's result is not evidence either way: with some nodes it fails if the node isn't running, and it may
 * fail and still exit with status 0. A failed command counts only if no process is visible.
 *
 * @param processBefore process that responded before the upgrade, which an earlier sidecar may have told to stop.
 */
export async function stopNode(processBefore: ProcessIdentity | undefined, context: StopStartContext): Promise<void> {
  const { driver, holders, clock, signal } = context;
  const withinMs = context.settings.restart.timeoutMs;
  const beganMs = clock.monotonicMs();
  const seen = [...(await holders.now()), ...(processBefore === undefined ? [] : [processBefore])];
  // The command isn't killed with the sidecar; it has its own time limit.
  const stopResult = await driver.stop(new AbortController().signal).catch((error: unknown) => {
    if (error instanceof DriverError) return error;
    throw error;
  });
  const hasFailed = stopResult instanceof DriverError;
  const said = hasFailed ? stopResult.message : stopResult.failureOutput;
  const outputText = said === undefined ? "" : ` (the stop command printed: ${said})`;
  const findReason = async () => {
    for (const mark of seen) if (await holders.runs(mark)) return `its process ${mark.pid} is still running`;
    return (await isStopped(context)) ? undefined : "the node still responds, or its port is open,";
  };
  const limits = { everyMs: checkAgainMs, withinMs: withinMs - (clock.monotonicMs() - beganMs), signal };
  const why = await waitUntil(findReason, (reason) => reason === undefined, limits, clock);
  if (why !== undefined)
    throw new UpgradeError(`${why} ${withinMs} ms after its stop (restart.timeoutMs)${outputText}`);
  if (hasFailed && seen.length === 0) throw new UpgradeError(`${processDetail}${outputText}`);
}

const processDetail =
  "the stop command failed, and the node's process is invisible, so it may still write its data although its port is closed; run the sidecar as the node's user";

/** Whether the node's port is closed at several consecutive checks. */
export async function isStopped({ health, signal }: UpgradeContext): Promise<boolean> {
  for (let checkCount = 0; checkCount < closedChecks; checkCount += 1) {
    const { failure } = await health.check(signal);
    if (failure?.isPortClosed !== true) return false;
    await pause(checkAgainMs, signal);
  }
  return true;
}

/** Starts the node unless it responds. `mayRun`: an earlier sidecar may have started it, so a failed start is ignored. */
export async function startNode(mayRun: boolean, context: StopStartContext): Promise<RestartReport> {
  const { driver, health, signal } = context;
  if ((await health.check(signal)).failure === undefined) return {};
  try {
    return await driver.start(new AbortController().signal);
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    if (mayRun || (await waitForResponse(signal, context))) return {};
    throw error;
  }
}
