import { pino } from "pino";
import { systemClock } from "#daemon/clock.ts";
import { createFileDeadline } from "#daemon/files/file-deadline.ts";
import { createRecentEvents, type EventLog } from "#status/event-log.ts";
import type { NodeDriver } from "../upkeep/drivers/driver.ts";
import { createNodeProcesses, type NodeProcesses } from "../upkeep/drivers/host-processes.ts";
import { createOpsDriver } from "../upkeep/drivers/ops-driver.ts";
import { checkRpc } from "./ops-node.ts";
import { keepProgramOutput } from "./program-output.ts";

/** Commands and limits for a driver in a test; unset ones have defaults. */
export type OpsDriverForTest = Readonly<{
  directory: string;
  httpUrl?: string;
  stop?: readonly string[];
  start?: readonly string[];
  stopTimeoutSeconds?: number;
  timeoutMs?: number;
  passes?: readonly string[];
}>;

/** Finds a node's processes as a sidecar does, in a directory whose file system hangs if it doesn't respond for `withinMs`. */
export function findProcessesOf(httpUrl: string, directory: string, withinMs = 5_000): NodeProcesses {
  const { signal } = new AbortController();
  const deadline = createFileDeadline({ withinMs, signal }, { clock: systemClock, onBack: () => undefined });
  const places = { binDirectory: () => directory, fileDeadline: () => deadline };
  return createNodeProcesses({ httpUrl, ...places, processName: () => undefined });
}

/** Builds the `ops` driver with real processes and files. */
export async function buildOpsDriver({
  directory,
  httpUrl = "http://127.0.0.1:9",
  stop = ["./ops", "stop", "--force"],
  start = ["./ops", "start", "--config", "./node.conf"],
  stopTimeoutSeconds = 5,
  timeoutMs = 10_000,
  passes = [],
}: OpsDriverForTest): Promise<
  AsyncDisposable & Readonly<{ driver: NodeDriver; events: EventLog; outputDirectory: string }>
> {
  const output = await keepProgramOutput();
  const events = createRecentEvents(systemClock);
  const driver = createOpsDriver(
    { stop, stopTimeoutSeconds, timeoutMs },
    () => ({ directory, setting: "ops.directory", binDirectory: directory, start, passes }),
    {
      processes: findProcessesOf(httpUrl, directory),
      check: () => checkRpc(httpUrl),
      clock: systemClock,
      events,
      log: pino({ level: "silent" }),
      output,
    },
  );
  return { driver, events, outputDirectory: output.directory, [Symbol.asyncDispose]: output[Symbol.asyncDispose] };
}
