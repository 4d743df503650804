import type { Clock } from "#daemon/clock.ts";
import { pause, waitUntil } from "#daemon/time.ts";
import type { NodeHealth } from "#health/node-health.ts";
import { DriverError, type NodeDriver, type RestartReport } from "../drivers/driver.ts";
import { waitForResponse } from "../restart/restart-verification.ts";
import type { ProcessMark } from "../state/upgrade-record.ts";
import type { NodeProcesses } from "../drivers/node-processes.ts";
import type { StageOutcome } from "../../upgrade/next-stage.ts";

/** A driver that stops and starts the node in two steps; in between, nothing uses the node's files. */
export type PowerDriver = NodeDriver & Required<Pick<NodeDriver, "stop" | "start">>;

export type NodePowerDependencies = Readonly<{
  driver: PowerDriver;
  holders: PortHolders;
  look: (signal: AbortSignal) => Promise<NodeHealth>;
  clock: Clock;
  signal: AbortSignal;
}>;

/** Visible processes that listen on the node's port. */
export type PortHolders = Pick<NodeProcesses, "now" | "runs">;

const checkAgainMs = 100;

/** Number of consecutive checks that must find the port closed: a supervisor may be about to restart the node. */
const closedLooks = 3;

/** Whether a driver can stop the node without starting it. */
export function hasPower(driver: NodeDriver | undefined): driver is PowerDriver {
  return driver?.stop !== undefined && driver.start !== undefined;
}

/**
 * Stops the node, and checks that its port is closed and that the processes that listened on it have exited: a node closes its port first
 * and then writes its data. The command's result is not evidence either way: with some nodes it fails if the node isn't running, and it may
 * fail and still exit with status 0. A failed command counts only if no process is visible.
 *
 * @param before process that responded before the upgrade, which an earlier sidecar may have told to stop.
 */
export async function stopNode(
  { withinMs, before }: Readonly<{ withinMs: number; before: ProcessMark | undefined }>,
  dependencies: NodePowerDependencies,
): Promise<StageOutcome> {
  const { driver, holders, clock, signal } = dependencies;
  const beganMs = clock.monotonicMs();
  const seen = [...(await holders.now()), ...(before === undefined ? [] : [before])];
  let said = "";
  let hasFailed = false;
  try {
    // The command isn't killed with the sidecar; it has its own time limit.
    const { complaint } = await driver.stop(new AbortController().signal);
    said = complaint ?? "";
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    said = error.message;
    hasFailed = true;
  }
  const words = said === "" ? "" : ` (the stop command said: ${said})`;
  const look = async () => ({ isClosed: await isStopped(dependencies), running: await findRunning(seen, holders) });
  const { isClosed, running } = await waitUntil(
    look,
    (found) => found.isClosed && found.running === undefined,
    { everyMs: checkAgainMs, withinMs: withinMs - (clock.monotonicMs() - beganMs), signal },
    clock,
  );
  if (isClosed && running === undefined) {
    return hasFailed && seen.length === 0 ? { kind: "failed", why: `${unseen}${words}` } : { kind: "done" };
  }
  const what =
    running === undefined
      ? "the node still answers, or its port is still open,"
      : `its process ${running.pid} still runs`;
  return { kind: "failed", why: `${what} ${withinMs} ms after its stop (restart.timeoutMs)${words}` };
}

const unseen =
  "the stop command failed, and though the node's port is closed its process can't be seen, so that it may still write its data; run the sidecar as the node's user";

async function findRunning(marks: readonly ProcessMark[], { runs }: PortHolders): Promise<ProcessMark | undefined> {
  for (const mark of marks) if (await runs(mark)) return mark;
  return undefined;
}

/** Whether the node's port is closed at several consecutive checks. */
export async function isStopped({ look, signal }: Pick<NodePowerDependencies, "look" | "signal">): Promise<boolean> {
  for (let looks = 0; looks < closedLooks; looks += 1) {
    const { failure } = await look(signal);
    if (failure?.isPortClosed !== true) return false;
    await pause(checkAgainMs, signal);
  }
  return true;
}

/**
 * Starts the node unless it responds. `mayRun`: an earlier sidecar may have started it, so a failed start is ignored.
 *
 * @throws {DriverError} when it could not be started.
 */
export async function startNode(
  { mayRun, healthyWithinMs }: Readonly<{ mayRun: boolean; healthyWithinMs: number }>,
  dependencies: NodePowerDependencies,
): Promise<RestartReport> {
  const { driver, look, signal } = dependencies;
  if ((await look(signal)).failure === undefined) return {};
  try {
    return await driver.start(new AbortController().signal);
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    if (mayRun || (await waitForResponse({ healthyWithinMs, signal }, dependencies))) return {};
    throw error;
  }
}
