import type { Clock } from "#daemon/clock.ts";
import { pause } from "#daemon/time.ts";
import type { NodeHealth } from "#health/node-health.ts";
import { DriverError, type NodeDriver, type RestartReport } from "../drivers/driver.ts";
import type { StepOutcome } from "./next-stage.ts";

/** A driver that stops and starts the node in two steps: between them its files are nobody's. */
export type PowerDriver = NodeDriver & Required<Pick<NodeDriver, "stop" | "start">>;

export type NodePowerDependencies = Readonly<{
  driver: PowerDriver;
  look: (signal: AbortSignal) => Promise<NodeHealth>;
  clock: Clock;
  signal: AbortSignal;
}>;

const lookAgainMs = 100;

/** How long a node that the start command could not start may take to answer, if it runs already. */
const runsAlreadyMs = 5_000;

/** Looks that have to find the port closed, one after the other: a supervisor may be about to start the node again. */
const closedLooks = 3;

/** Whether a driver can stop the node without starting it. */
export function hasPower(driver: NodeDriver | undefined): driver is PowerDriver {
  return driver?.stop !== undefined && driver.start !== undefined;
}

/**
 * Stops the node and sees that its port is closed. What the command says is no proof either way: that of a node which does not run fails with some
 * nodes, and one that fails may end with status 0.
 */
export async function stopNode(
  { withinMs }: Readonly<{ withinMs: number }>,
  dependencies: NodePowerDependencies,
): Promise<StepOutcome> {
  const { driver, clock, signal } = dependencies;
  const untilMs = clock.monotonicMs() + withinMs;
  let said = "";
  try {
    // Not ended with the sidecar: the command has its own time limit.
    const { complaint } = await driver.stop(new AbortController().signal);
    said = complaint ?? "";
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    said = error.message;
  }
  do {
    if (await isStopped(dependencies)) return { ok: true };
    await pause(lookAgainMs, signal);
  } while (!signal.aborted && clock.monotonicMs() < untilMs);
  const words = said === "" ? "" : ` (the stop command said: ${said})`;
  return { ok: false, why: `the node still answers, or its port is still open, ${withinMs} ms after its stop${words}` };
}

/** Whether the node's port is closed, at several looks in a row. */
export async function isStopped({ look, signal }: Pick<NodePowerDependencies, "look" | "signal">): Promise<boolean> {
  for (let looks = 0; looks < closedLooks; looks += 1) {
    const { failure } = await look(signal);
    if (failure?.isPortClosed !== true) return false;
    await pause(lookAgainMs, signal);
  }
  return true;
}

/**
 * Starts the node unless it answers. `mayRun`: an earlier sidecar may have started it, so that a start that fails because of that is none.
 *
 * @throws {DriverError} when it could not be started.
 */
export async function startNode(
  { mayRun }: Readonly<{ mayRun: boolean }>,
  dependencies: NodePowerDependencies,
): Promise<RestartReport> {
  const { driver, look, signal } = dependencies;
  if ((await look(signal)).failure === undefined) return {};
  try {
    return await driver.start(new AbortController().signal);
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    if (mayRun || (await answersSoon(dependencies))) return {};
    throw error;
  }
}

async function answersSoon({ look, clock, signal }: NodePowerDependencies): Promise<boolean> {
  const untilMs = clock.monotonicMs() + runsAlreadyMs;
  while (!signal.aborted && clock.monotonicMs() < untilMs) {
    if ((await look(signal)).failure === undefined) return true;
    await pause(lookAgainMs, signal);
  }
  return false;
}
